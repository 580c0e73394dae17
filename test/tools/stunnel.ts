import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Returns the reason why stunnel cannot run here; undefined if it can. As root, installs Debian's package if it is
 * missing.
 */
export async function stunnelProblem(): Promise<string | undefined> {
  const isThere = () =>
    run('sh', ['-c', 'command -v stunnel']).then(
      () => true,
      () => false,
    );
  if (await isThere()) return undefined;
  if (process.getuid?.() === 0)
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'stunnel4']).catch(() => {});
  return (await isThere()) ? undefined : 'There is no stunnel: install it by `apt-get install -y stunnel4`.';
}
