import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
/** Warns soon after the program has begun, as Node.js does of a feature or an option. NODE_OPTIONS takes no quotes. */
const WARNING = '--import=data:text/javascript,setTimeout(()=>process.emitWarning(`a%20warning`),20)';

const stderrOf = async (options: string) => {
  const env = { ...process.env, NODE_OPTIONS: options };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, 'version'], { env });
  return { stdout, stderr };
};

test('B24: prints no warning of Node.js on stderr, unless it is asked to', async () => {
  const { stdout, stderr } = await stderrOf(WARNING);
  expect(stdout).toContain('gpu-rental-operator');
  expect(stderr).toBe('');
  expect((await stderrOf(`${WARNING} --trace-warnings`)).stderr).toContain('a warning');
});
