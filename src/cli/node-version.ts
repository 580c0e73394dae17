/** Returns a version as three numbers; missing ones are 0. */
function partsOf(version: string): readonly number[] {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return [major, minor, patch];
}

/**
 * Returns the problem of that version of Node.js as text; undefined if it is supported. `needed` has the form of
 * `engines` in package.json: `>=22.22`. It runs first, so any Node.js must be able to parse it.
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
