// Runs in words: their question, name and status.
import { h } from "./dom.js";

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
