// Whether an answer is right, and as theory predicted, in words.
import { compared } from "./digits.js";

const NAMES = ["ones", "tens", "hundreds", "thousands"];
const COUNTED_FROM = 17;

export function verdict(answer) {
  if (answer.malformed) return `✗ Not a number: ${answer.malformed}.`;
  if (answer.right)
    return answer.as_predicted === false ? "✓ Right, though theory predicted another answer." : "✓ Right.";
  if (answer.as_predicted) return "✗ Wrong, and exactly as theory predicted.";
  return answer.as_predicted === null
    ? "✗ Wrong. Theory makes no prediction here."
    : "✗ Wrong, and not as theory predicted.";
}

// How many digits of a long answer are right; empty where it is short enough to see.
export function digitsRight(text, truth) {
  const places = compared(text, truth).reverse();
  if (places.length < COUNTED_FROM) return "";
  const wrong = places.flatMap(({ differs }, i) => (differs ? [i] : []));
  const count = `${places.length - wrong.length} of ${places.length} digits right`;
  if (!wrong.length) return `${count}.`;
  const first = NAMES[wrong[0]] ?? `digit ${wrong[0] + 1}`;
  return `${count}; first wrong from the right: ${first}.`;
}
