import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { chromiumPath } from '../../scripts/docs/chromium.ts';

/** Why no Chromium can be run here, as a sentence; undefined if one can. Root has Debian's package installed if it is missing. */
export async function chromiumProblem(): Promise<string | undefined> {
  if (chromiumPath() === undefined && process.getuid?.() === 0) {
    const install = ['install', '-y', '--no-install-recommends', 'chromium'];
    await promisify(execFile)('apt-get', install).catch(() => {});
  }
  return chromiumPath() === undefined
    ? 'There is no Chromium: install it by `apt-get install -y chromium`.'
    : undefined;
}
