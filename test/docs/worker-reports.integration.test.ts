import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { WORKER_TOKEN_ENV } from '../../src/api/v1alpha1/names.ts';
import { readPushed } from '../../src/controllers/endpoint-group/load/push.ts';
import type { RunningServer } from '../../src/server/http-server.ts';
import { serveReports } from '../../src/server/report-server.ts';
import { codeBlocks, commandsOf } from './code-blocks.ts';

let server: RunningServer | undefined;
afterEach(() => server?.close());

test('the page on workers that report shows a command whose report is understood', async () => {
  const taken: { readonly path: string; readonly body: unknown }[] = [];
  const take = (path: string, body: unknown) => {
    taken.push({ path, body });
    return { status: 200, message: 'ok' };
  };
  server = await serveReports(take, { host: '127.0.0.1', port: 0 });
  const [command = 'false'] = codeBlocks('docs/how-to/worker-reports.md').map(commandsOf).filter(isReport);
  const env = { REPORT_ADDR: server.url, CONTAINER_ID: '4711', [WORKER_TOKEN_ENV]: 'token-of-the-worker' };
  await promisify(execFile)('bash', ['-c', command], { env: { ...env, PATH: process.env.PATH } });
  expect(taken).toEqual([
    {
      path: '/worker_status/',
      body: { id: 4711, mtoken: 'token-of-the-worker', new_load: 12, cur_load: 3, max_perf: 40 },
    },
  ]);
  expect(readPushed(taken[0]?.body).record).toMatchObject({
    arrived: { type: 'amount', newLoad: 12 },
    currentLoad: 3,
    maxPerf: 40,
  });
});

function isReport(command: string): boolean {
  return command.startsWith('curl ');
}
