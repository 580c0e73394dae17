import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LOG_SECRET_TYPE } from '../../src/api/v1alpha1/names.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { linesAfter, markOf, positionAt } from '../../src/reach/log-lines.ts';
import {
  type LogEvent,
  type LogRefusal,
  type LogRequest,
  type LogSink,
  logPiece,
} from '../../src/reach/log-stream.ts';
import { type RunningServer, textPage } from '../../src/server/http-server.ts';
import { serveLogs } from '../../src/server/log-server.ts';
import { selfSigned } from '../builders/self-signed.ts';
import { until } from '../builders/until.ts';
import { type Desk, desk } from './desk.ts';
import { refused } from './scripted-cluster.ts';

describe('lines of a log that are new', () => {
  test.each<[string, readonly string[], readonly string[], readonly string[], boolean]>([
    ['are those behind the ones that were read', ['a', 'b'], ['a', 'b', 'c'], ['c'], false],
    ['are those that came when old ones have left', ['a', 'b', 'c'], ['c', 'd', 'e'], ['d', 'e'], false],
    ['are none where nothing was written', ['a', 'b'], ['a', 'b'], [], false],
    ['are all of a log that was empty', [], ['a'], ['a'], false],
    ['count equal lines once each', ['x', 'x'], ['x', 'x', 'x'], ['x'], false],
    ['are all, and some may be missing, where none is known', ['a', 'b'], ['y', 'z'], ['y', 'z'], true],
    ['are none of a log that was emptied', ['a'], [], [], false],
  ])('%s', (_, before, now, added, isCut) => {
    expect(linesAfter(before, now)).toEqual({ added, isCut });
  });
});

describe('logs --follow', () => {
  let here: Desk;
  beforeAll(async () => {
    here = await desk();
  });
  afterAll(() => here.close());

  test('shows what is there and what comes, each line once, and ends with Ctrl-C', async () => {
    const id = String(await here.labelledMachine('11111111-2222-3333-4444-555555555555'));
    here.market.service.advance(600);
    const terminal = here.cluster.cli.atTerminal(['logs', id, '--follow', '--interval', '100ms']);
    await terminal.until('simulated container is up');
    for (const minutes of [20, 5]) {
      here.market.service.advance(minutes * 60);
      const { stdout } = await here.cluster.cli.run(['logs', id, '--tail', '1']);
      await terminal.until(stdout.trim());
    }
    terminal.interrupt();
    expect(await terminal.ended).toBe(130);
    const lines = terminal.shown().match(/up for \d+ min/g) ?? [];
    expect(lines.length).toBeGreaterThan(25);
    expect(new Set(lines).size).toBe(lines.length);
    expect(terminal.shown()).not.toContain('missing');
  });

  test('begins with the last lines that are asked for', async () => {
    const id = String(await here.labelledMachine('21111111-2222-3333-4444-555555555555'));
    here.market.service.advance(6000);
    const terminal = here.cluster.cli.atTerminal(['logs', id, '--follow', '--tail', '3']);
    await terminal.until('up for');
    terminal.interrupt();
    await terminal.ended;
    expect(terminal.shown().match(/up for \d+ min/g)).toHaveLength(3);
  });

  test('fails at once for a machine that is not there', async () => {
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', '99', '--follow']);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('Error:');
  });

  test('writes text alone', async () => {
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', '99', '--follow', '-o', 'json']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--follow writes text');
  });
});

describe('logs through the operator', () => {
  const DAY = 86_400_000;
  const { cert, key } = selfSigned({
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + DAY),
  });
  let here: Desk;
  let server: RunningServer;
  let folder: string;
  const requests: { readonly request: LogRequest; readonly sink: LogSink }[] = [];
  let answer: LogRefusal | undefined;
  let refusals = 0;
  const position = positionAt('7', markOf('one\ntwo\nthree\n'));

  beforeAll(async () => {
    here = await desk();
    folder = mkdtempSync(join(tmpdir(), 'logs-'));
    writeFileSync(join(folder, 'ca.crt'), cert);
    server = await serveLogs(
      {
        clock: systemClock,
        certificate: async () => ({ cert: Buffer.from(cert), key: Buffer.from(key) }),
        access: {
          refusal: async ({ authorization }) =>
            authorization === 'Bearer none' ? undefined : textPage(401, 'No.\n'),
        },
        open: (request, sink) => {
          if (answer && (answer.status !== 503 || refusals++ < 2))
            return { type: 'refused', refusal: answer };
          requests.push({ request, sink });
          if (!request.follow) {
            queueMicrotask(() => {
              sink(logPiece({ type: 'text', text: 'one\ntwo\nthree\n', position }));
              sink(logPiece({ type: 'end', reason: 'Complete', message: 'End.' }));
            });
          }
          return { type: 'open', close: () => {} };
        },
      },
      { host: '127.0.0.1', port: 0 },
    );
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
    await here.close();
  });
  beforeEach(() => {
    requests.length = 0;
    answer = undefined;
    refusals = 0;
  });
  const options = () => ['-n', 'team', '--log-url', server.url, '--log-ca', join(folder, 'ca.crt')];

  test('need the token of the kubeconfig and no marketplace key', async () => {
    const { exitCode, stdout } = await here.cluster.cli.run(['logs', 'gpui/trainer', ...options()]);
    expect([exitCode, stdout]).toEqual([0, 'one\ntwo\nthree\n']);
    expect(requests.map(({ request }) => request)).toEqual([
      { namespace: 'team', name: 'trainer', since: undefined, follow: false },
    ]);
    const last = await here.cluster.cli.run(['logs', 'gpui/trainer', '--tail', '1', ...options()]);
    expect(last.stdout).toBe('three\n');
  });

  test('follow from the position of the text that was shown, and end with the stream', async () => {
    const terminal = here.cluster.cli.atTerminal(['logs', 'gpui/trainer', '-f', '--tail', '1', ...options()]);
    await until('it follows', async () => requests.length === 2);
    expect(requests[1]?.request).toMatchObject({ follow: true, since: position });
    const send = (event: LogEvent) => requests[1]?.sink(logPiece(event));
    send({ type: 'note', reason: 'Replaced', message: 'trainer runs on machine 8 now.' });
    send({ type: 'text', text: 'four\n', position });
    send({ type: 'end', reason: 'Complete', message: 'trainer has finished.' });
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain('four');
    expect(terminal.shown()).toContain('machine 8');
    expect(terminal.shown()).not.toContain('two');
  });

  test('are asked again of the replica that leads', async () => {
    answer = { status: 503, message: 'Connect again.' };
    const { exitCode, stdout } = await here.cluster.cli.run(['logs', 'gpui/trainer', ...options()]);
    expect([exitCode, stdout, refusals]).toEqual([0, 'one\ntwo\nthree\n', 3]);
  });

  test('fail with the reason of the operator', async () => {
    answer = { status: 409, message: 'The status names a foreign machine.' };
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', 'gpui/trainer', '-f', ...options()]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('The status names a foreign machine.')]);
  });

  test('of a finished run without a machine come from its Secret, with the right of the caller', async () => {
    answer = { status: 410, message: 'team/done has finished, and its machine is gone.' };
    const packed = gzipSync('one\ntwo\n').toString('base64');
    here.put('secrets', { metadata: { name: 'done-log' }, type: LOG_SECRET_TYPE, data: { log: packed } });
    for (const follow of [[], ['-f']]) {
      const { exitCode, stdout, stderr } = await here.cluster.cli.run([
        ...['logs', 'gpui/done', '--tail', '1', ...follow],
        ...options(),
      ]);
      expect([exitCode, stdout]).toEqual([0, 'two\n']);
      expect(stderr).toContain('from Secret done-log, read with your own permissions');
    }
  });

  test('of a finished run name the Secret that the caller may not read', async () => {
    answer = { status: 410, message: 'team/closed has finished, and its machine is gone.' };
    here.cluster.answer = (asked) =>
      asked.path.includes('/secrets/') ? refused(403, 'Forbidden') : here.stored(asked);
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', 'gpui/closed', ...options()]);
    here.cluster.answer = here.stored;
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('Ask for the right to get Secret closed-log in namespace team'),
    ]);
  });

  test('of a finished run without a kept log fail with the answer of the operator', async () => {
    answer = { status: 410, message: 'team/none has finished. No log of it was kept.' };
    const { exitCode, stderr } = await here.cluster.cli.run(['logs', 'gpui/none', ...options()]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('No log of it was kept.')]);
  });

  describe('for a kubeconfig without a bearer token', () => {
    const withoutToken = (user: object) => {
      const file = join(folder, 'kubeconfig');
      const [name, server] = ['plain', here.cluster.url];
      const kubeconfig = {
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
        clusters: [{ name, cluster: { server } }],
        users: [{ name, user }],
        contexts: [{ name, context: { cluster: name, user: name, namespace: 'team' } }],
      };
      writeFileSync(file, JSON.stringify(kubeconfig));
      return ['logs', 'gpui/trainer', '--kubeconfig', file, ...options()];
    };

    test.each([
      ['no identity', {}],
      ['a password', { username: 'jane', password: 'secret' }],
    ])('are refused with the field and the option when it has %s', async (_, user) => {
      const { exitCode, stderr } = await here.cluster.cli.run(withoutToken(user));
      expect(exitCode).toBe(1);
      expect(stderr).toContain('users[].user.token');
      expect(stderr).toContain('--log-service-account NAME');
      expect(requests).toEqual([]);
    });

    test('use a token of the ServiceAccount that the caller names', async () => {
      const asked: unknown[] = [];
      here.cluster.answer = (question) => {
        if (!question.path.endsWith('/serviceaccounts/reader/token')) return here.stored(question);
        asked.push([question.method, question.path, question.body]);
        return { status: 201, body: { kind: 'TokenRequest', status: { token: 'none' } } };
      };
      const line = [...withoutToken({}), '--log-service-account', 'reader'];
      const { exitCode, stdout } = await here.cluster.cli.run(line);
      here.cluster.answer = here.stored;
      expect([exitCode, stdout]).toEqual([0, 'one\ntwo\nthree\n']);
      expect(asked).toEqual([
        [
          'POST',
          '/api/v1/namespaces/team/serviceaccounts/reader/token',
          expect.objectContaining({ spec: { expirationSeconds: 3_600 } }),
        ],
      ]);
    });

    test.each([
      ['Forbidden', 403, 'Ask for the right to create serviceaccounts/token of reader'],
      ['NotFound', 404, 'namespace team has no ServiceAccount reader'],
    ] as const)('fail with the remedy when the API server answers %s', async (reason, code, text) => {
      here.cluster.answer = (question) =>
        question.path.endsWith('/token') ? refused(code, reason) : here.stored(question);
      const line = [...withoutToken({}), '--log-service-account', 'reader'];
      const { exitCode, stderr } = await here.cluster.cli.run(line);
      here.cluster.answer = here.stored;
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(text)]);
    });
  });

  test.each([['4711'], ['gpui/trainer', '--daemon'], ['gpui/trainer', '--filter', 'x']])(
    'are refused for %s',
    async (...args) => {
      const { exitCode, stderr } = await here.cluster.cli.run(['logs', ...args, ...options()]);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/--log-url|through the operator/)]);
    },
  );
});
