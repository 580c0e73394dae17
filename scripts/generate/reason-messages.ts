import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refusedProse } from '../lint/prose.ts';
import { REPOSITORY } from './artifact.ts';

/** Goldens of the operator's decisions in each situation. */
const GOLDENS = 'test/golden/decisions/*.txt';
/** A condition or an event: `Ready False NoOffers: ...`, `event Warning OrphanFound (Sweep): ...`. */
const SAID = /^(?:event \w+|\w+ \w+) (\w+)(?: \([^)]*\))?(?: since \S+)?: (.*)$/gm;
/** Others have words that a test made up. */
const isWhole = (message: string): boolean =>
  message.length >= 24 && /^[A-Z](?!.*(?:\. m |: no [A-Z]))/.test(message);

const LINK = / See https:\/\/\S+$/;

function collected(): ReadonlyMap<string, readonly string[]> {
  const said = new Map<string, readonly string[]>();
  for (const path of globSync(GOLDENS, { cwd: REPOSITORY }).toSorted())
    for (const [, reason = '', text = ''] of readFileSync(join(REPOSITORY, path), 'utf8').matchAll(SAID)) {
      const message = text.replace(LINK, '');
      if (isWhole(message) && refusedProse(message).length === 0)
        said.set(reason, [...(said.get(reason) ?? []), message]);
    }
  return said;
}

const messages = collected();

/**
 * Returns the operator's message with that reason in the goldens of its decisions: the most frequent, of several the
 * longest. Undefined without one.
 */
export function recordedMessage(reason: string): string | undefined {
  const said = messages.get(reason) ?? [];
  const frequency = (message: string): number => said.filter((other) => other === message).length;
  return said.toSorted(
    (left, right) =>
      frequency(right) - frequency(left) || right.length - left.length || (left < right ? -1 : 1),
  )[0];
}
