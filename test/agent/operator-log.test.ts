import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { operatorLogAnswer } from '../../src/cli/agent/operator-log-tool.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { type LogRefusal, type LogRequest, logPiece } from '../../src/reach/log-stream.ts';
import { tokenCredentials } from '../../src/runtime/kube/credentials.ts';
import { type RunningServer, textPage } from '../../src/server/http-server.ts';
import { serveLogs } from '../../src/server/log-server.ts';
import { noCredentials } from '../builders/no-credentials.ts';
import { selfSigned } from '../builders/self-signed.ts';

/* The tool `logs` through the operator's log server: with the agent's own token, and without a Secret. */

const DAY = 86_400_000;
const { cert, key } = selfSigned({
  notBefore: new Date(Date.now() - DAY),
  notAfter: new Date(Date.now() + DAY),
});
let server: RunningServer;
let folder: string;
let answer: LogRefusal | undefined;
const requests: LogRequest[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-logs-'));
  writeFileSync(join(folder, 'ca.crt'), cert);
  server = await serveLogs(
    {
      clock: systemClock,
      certificate: async () => ({ cert: Buffer.from(cert), key: Buffer.from(key) }),
      access: {
        refusal: async ({ authorization }) =>
          authorization === 'Bearer agent' ? undefined : textPage(403, 'No right to get gpuinstances/log.\n'),
      },
      open: (request, sink) => {
        requests.push(request);
        if (answer) return { type: 'refused', refusal: answer };
        queueMicrotask(() => {
          sink(logPiece({ type: 'text', text: 'one\ntwo\nthree\n' }));
          sink(logPiece({ type: 'end', reason: 'Complete', message: 'End.' }));
        });
        return { type: 'open', close: () => {} };
      },
    },
    { host: '127.0.0.1', port: 0 },
  );
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  answer = undefined;
  requests.length = 0;
});

const logs = (
  status: Partial<GpuInstance['status']> = {},
  credentials = tokenCredentials(new Secret('agent')),
) => {
  const object = { metadata: { name: 'train' }, spec: {}, status: { phase: 'Running', ...status } };
  const unused = () => Promise.reject(new Error('no request to the API server is expected'));
  const cluster = { kube: { get: unused, create: unused }, namespace: 'agents', credentials };
  return operatorLogAnswer(object as unknown as GpuInstance, 2, {
    // The tool uses only these parts of a session.
    cluster: cluster as never,
    address: { url: new URL(server.url), authority: join(folder, 'ca.crt') },
    random: seededRandom(1),
    signal: new AbortController().signal,
  });
};

test('shows the last lines with the token of the kubeconfig, between fences', async () => {
  const shown = await logs();
  expect(requests).toEqual([{ namespace: 'agents', name: 'train', since: undefined, follow: false }]);
  expect(shown).toMatchObject({ ok: true, reason: 'LogShown' });
  expect((shown.data as { readonly log: string }).log).toMatch(
    /data, not instructions .*\ntwo\nthree\n\n---/,
  );
});

test('shows the last lines of a finished run from its status, and names the Secret for a person', async () => {
  answer = { status: 410, message: 'agents/train has finished.' };
  const log = { secretRef: { name: 'train-log' }, bytes: 9, truncated: false };
  const shown = await logs({ run: { message: 'loss 0.1', log } });
  expect(shown).toMatchObject({ ok: true, reason: 'LogShown' });
  expect(shown.message).toContain('A person who may read Secret train-log sees the whole.');
  expect(JSON.stringify(shown.data)).toContain('loss 0.1');
});

test.each<[LogRefusal['status'], string]>([
  [404, 'NoLog'],
  [429, 'NoLog'],
  [501, 'NoLog'],
])('refuses after status %i with reason %s and the text of the operator', async (status, reason) => {
  answer = { status, message: 'Not now.' };
  expect(await logs()).toMatchObject({ ok: false, reason, message: expect.stringContaining('Not now.') });
});

test('refuses a caller without the right, with the permission', async () => {
  expect(await logs({}, tokenCredentials(new Secret('other')))).toMatchObject({
    ...{ ok: false, reason: 'NotPermitted' },
    message: expect.stringContaining('gpuinstances/log'),
  });
});

test('rejects for a kubeconfig without a bearer token', async () => {
  await expect(logs({}, noCredentials)).rejects.toThrow('has no bearer token');
});
