// Requests to the server. A refused request says why and which field caused it.

export class Refused extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

async function request(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const item of [value].flat()) if (item !== "" && item !== undefined) query.append(name, item);
  }
  let response;
  try {
    response = await fetch(`${path}?${query}`, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is lengthwise explore still running?", null);
  }
  if (!response.ok) {
    const problem = await response
      .json()
      .catch(() => ({ error: `the server failed (${response.status})`, field: null }));
    throw new Refused(problem.error, problem.field);
  }
  return response;
}

export async function getJson(path, parameters = {}, signal = undefined) {
  return (await request(path, parameters, signal)).json();
}

// Yields each line of a reply as soon as it has arrived.
export async function* getLines(path, parameters, signal) {
  const response = await request(path, parameters, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
