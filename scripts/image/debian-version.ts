/**
 * Orders two versions as Debian does (Debian Policy 5.6.12): negative if the first is older. Digits count as numbers,
 * and `~` sorts before everything, the end included.
 */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  return a.epoch - b.epoch || compareParts(a.upstream, b.upstream) || compareParts(a.revision, b.revision);
}

function partsOf(version: string): { epoch: number; upstream: string; revision: string } {
  const [, epoch = '0', rest = ''] = /^(?:(\d+):)?(.*)$/.exec(version) ?? [];
  const dash = rest.lastIndexOf('-');
  return dash === -1
    ? { epoch: Number(epoch), upstream: rest, revision: '0' }
    : { epoch: Number(epoch), upstream: rest.slice(0, dash), revision: rest.slice(dash + 1) };
}

/** Texts without digits and numbers take turns. */
function compareParts(one: string, other: string): number {
  const [a, b] = [one, other].map((text) => [...text.matchAll(/(\D*)(\d*)/g)]);
  for (let index = 0; index < Math.max(a?.length ?? 0, b?.length ?? 0); index += 1) {
    const [, textA = '', numberA = ''] = a?.[index] ?? [];
    const [, textB = '', numberB = ''] = b?.[index] ?? [];
    const difference = compareTexts(textA, textB) || Number(numberA) - Number(numberB);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareTexts(one: string, other: string): number {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const difference = weightOf(one[index]) - weightOf(other[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** `~` before the end, the end before letters, letters before all other characters. */
function weightOf(character: string | undefined): number {
  if (character === undefined) return 0;
  if (character === '~') return -1;
  return character.charCodeAt(0) + (/[A-Za-z]/.test(character) ? 0 : 256);
}
