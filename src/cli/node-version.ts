/** A version as three numbers; what is not written counts as 0. */
function partsOf(version: string): readonly number[] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return [major, minor, patch];
}

/**
 * What is wrong with a Node.js of that version, in words; undefined if it will do. `needed` as in `engines` of
 * package.json: `>=22.22`. It runs before anything else, so it has to be understood by any Node.js.
 */
export function nodeProblem(found: string, needed: string): string | undefined {
  const least = needed.replace('>=', '');
  const required = partsOf(least);
  const difference = partsOf(found)
    .map((part, at) => part - (required[at] ?? 0))
    .find((part) => part !== 0);
  if (difference === undefined || difference > 0) return undefined;
  return `Error: gpu-rent needs Node.js ${least} or newer, and this is Node.js ${found}.\nWhat to do: Install a newer Node.js, or put one before it in PATH: node --version shows which is found.\n`;
}
