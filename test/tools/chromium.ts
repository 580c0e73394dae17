import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { chromiumPath } from '../../scripts/docs/chromium.ts';

/**
 * Returns the reason why Chromium cannot run here; undefined if it can. As root, installs Debian's package if it is
 * missing.
 */
export async function chromiumProblem(): Promise<string | undefined> {
  if (chromiumPath() === undefined && process.getuid?.() === 0) {
    const install = ['install', '-y', '--no-install-recommends', 'chromium'];
    await promisify(execFile)('apt-get', install).catch(() => {});
  }
  return chromiumPath() === undefined
    ? 'There is no Chromium: install it by `apt-get install -y chromium`.'
    : undefined;
}
