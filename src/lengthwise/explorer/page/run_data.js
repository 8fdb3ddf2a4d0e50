// What is known of runs: the points of their records as they grow, and verdicts.
import { getJson } from "./api.js";

export const points = new Map(); // by name: { offset, points, reading }
export const verdicts = new Map(); // by name: { size, reading, reply, error }

export const byGroup = (some) => [...Map.groupBy(some, (run) => run.group || run.name).values()];
export const title = (run) =>
  `${run.task}${run.base === 10 ? "" : ` in base ${run.base}`}, ${run.train}, ${run.encoding}`;

export const exact = (name, where) =>
  points
    .get(name)
    .points.filter((point) => point.metric === "exact" && point.domain === where)
    .map((point) => [point.step, point.value]);

export const losses = (name) =>
  points
    .get(name)
    .points.filter((point) => point.metric === "train_loss")
    .map((point) => [point.step, point.value]);

export const domains = (name) => [
  ...new Set(
    points
      .get(name)
      .points.filter((point) => point.metric === "exact")
      .map((point) => point.domain),
  ),
];

export const lastStep = (name) => Math.max(0, ...points.get(name).points.map((point) => point.step));

// Only what the records have added since. Whoever asks meanwhile waits for the same reading.
export function readPoints(run) {
  const known = points.get(run.name) ?? { offset: 0, points: [], reading: null };
  points.set(run.name, known);
  known.reading ??= addPoints(run, known).finally(() => (known.reading = null));
  return known.reading;
}

async function addPoints({ name, records_size: size }, known) {
  for (let more = known.offset !== size; more;) {
    const reply = await getJson("/api/points", { run: name, offset: known.offset });
    if (reply.restarted) known.points = [];
    known.points.push(...reply.points);
    more = reply.more && reply.offset !== known.offset;
    known.offset = reply.offset;
  }
}

// Only where the records have changed since.
export function readVerdicts({ name, records_size: size }) {
  const known = verdicts.get(name);
  if (known?.size === size) return known.reading;
  const entry = { ...known, size };
  entry.reading = getJson("/api/verdicts", { run: name }).then(
    (reply) => Object.assign(entry, { reply, error: null }),
    (error) => Object.assign(entry, { reply: null, error: error.message }),
  );
  verdicts.set(name, entry);
  return entry.reading;
}

// Changes whenever there is something new to draw of a run.
export function edition({ name, records_size: size, status }) {
  const { reply, error } = verdicts.get(name) ?? {};
  return [name, size, status, points.get(name).points.length, reply?.step ?? error ?? null];
}
