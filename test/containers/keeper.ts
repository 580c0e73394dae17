/**
 * `keeper.ts CGROUP COMMAND...`, run by init.sh in namespaces of their own: starts a Docker engine and runs the command
 * with it. When the command ends, or the channel to the process that wanted it closes, it ends, and all else with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { until } from '../builders/until.ts';
import { findEngine } from './engine.ts';

const [cgroup = '', program = '', ...args] = process.argv.slice(2);
/** In memory, like all that the engine writes; init.sh has mounted it. */
const FOLDER = '/run/gpu-rental-docker';
const LOG = `${FOLDER}.log`;
const HOST = 'unix:///run/docker.sock';
const READY_WITHIN_MS = 60_000;
const LAST_LINES = 8;

process.once('disconnect', () => process.exit(1));
process.env['DOCKER_HOST'] = HOST;

const log = openSync(LOG, 'w');
const engine = spawn(
  'dockerd',
  [
    ...['--host', HOST, '--data-root', FOLDER, '--exec-root', '/run/docker', '--pidfile', '/run/docker.pid'],
    ...['--cgroup-parent', `/${cgroup}`],
  ],
  { stdio: ['ignore', log, log] },
);
let hasEnded = false;
for (const event of ['error', 'exit'] as const) engine.once(event, () => (hasEnded = true));

try {
  await until(
    'the Docker engine answers',
    async () => hasEnded || (await findEngine()) !== undefined,
    READY_WITHIN_MS,
  );
  if (hasEnded) throw new Error('dockerd ended at once');
  const command = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(command, 'exit');
  process.exit(code ?? 1);
} catch (error) {
  const last = readFileSync(LOG, 'utf8').trim().split('\n').slice(-LAST_LINES).join('\n');
  process.stderr.write(`No Docker engine could be started: ${String(error)}\n${last}\n`);
  process.exit(1);
}
