// Data of runs read so far: the points of their curves, and verdicts; and runs in words.
import { getJson } from "./api.js";
import { h } from "./dom.js";

export const points = new Map(); // by name: { offset, points, reading }
export const verdicts = new Map(); // by name: { size, reading, reply, error }
export const words = new Map(); // by name: the verdict on the whole run, null where there is none

const ofMetric = (name, metric) => points.get(name).points.filter((point) => point.metric === metric);
const curve = (some) => some.map((point) => [point.step, point.value]);

export const exact = (name, where) => curve(ofMetric(name, "exact").filter((point) => point.domain === where));
export const losses = (name) => curve(ofMetric(name, "train_loss"));
export const domains = (name) => [...new Set(ofMetric(name, "exact").map((point) => point.domain))];
export const lastStep = (name) => points.get(name).points.reduce((last, point) => Math.max(last, point.step), 0);

// Reads the points recorded since the last call. Calls during a reading wait for that one.
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

// Reads the verdicts on a run, if its records have changed since the last call.
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

let judged = "";
let judging = null;

// Reads the verdict on every run whose records have changed, a few at a time; `updated` is called after each batch.
export function readWords(runs, updated) {
  const state = runs.map((run) => `${run.name} ${run.records_size}`).join("\n");
  if (state !== judged) judging ??= judge(state, updated).finally(() => (judging = null));
  return judging;
}

async function judge(state, updated) {
  for (let left = 1; left;) {
    const reply = await getJson("/api/judged");
    words.clear();
    for (const [name, word] of Object.entries(reply.verdicts)) words.set(name, word);
    left = reply.left;
    if (!left) judged = state;
    updated();
  }
}

// A value that changes whenever there is something new to draw for a run.
export function edition({ name, records_size: size, status }) {
  const { reply, error } = verdicts.get(name) ?? {};
  return [name, size, status, points.get(name).points.length, reply?.step ?? error ?? null];
}

// Runs in words: their question, name and status.

export const STATUS = {
  running: ["wait", "running"],
  stopped: ["wait", "stopped"],
  interrupted: ["no", "interrupted"],
  done: ["yes", "done"],
  failed: ["no", "failed"],
  null: ["", "not started"],
};
export const statusOf = (run) => STATUS[run.status] ?? ["wait", run.status];

// By verdict: the class of a pill, its sign, and the word after a number.
export const VERDICTS = {
  holds: ["yes", "✓", "hold"],
  fails: ["no", "✗", "fail"],
  undecided: ["wait", "?", "undecided"],
};

// Runs with the same question differ at most in how they were trained; those of one setting only in their seed.
export const question = ({ task, base, train, encoding, layout }) =>
  `${task}${base === 10 ? "" : ` in base ${base}`}, ${train}, ${encoding}, ${layout}`;
export const positions = (encoding) => `${encoding === "none" ? "no" : encoding} positions`;
export const questionWords = ({ task, base, train, encoding, layout }) =>
  `${task}${base === 10 ? "" : ` in base ${base}`}, trained on ${train}, ${positions(encoding)}, ${layout} layout`;
export const setting = (run) => `${question(run)}\n${run.setting}`;
const grouped = (some, key) => [...Map.groupBy(some, key).values()];
export const byQuestion = (some) => grouped(some, question);
export const bySetting = (some) => grouped(some, setting);

export const lastPart = (name) => name.slice(name.lastIndexOf("/") + 1);
export const folder = (name) => name.slice(0, Math.max(0, name.lastIndexOf("/")));
export const withoutSeed = (run) => lastPart(run.name).replace(new RegExp(`-s${run.seed}$`), "");

// Names without their folders where these are unique, else whole names.
export function labels(some) {
  const short = some.map((run) => lastPart(run.name));
  const isClear = new Set(short).size === short.length;
  return new Map(some.map((run, i) => [run.name, isClear ? short[i] : run.name]));
}

// A name with line breaks allowed between its parts only.
export const breakable = (name) => name.split(/(?<=[/\-_+,])/).flatMap((part) => [part, h("wbr")]);
