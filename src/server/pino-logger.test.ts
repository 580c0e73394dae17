import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { createLogger } from './pino-logger.ts';

function logged(write: (log: ReturnType<typeof createLogger>) => void, level: 'debug' | 'info' = 'info') {
  const lines: string[] = [];
  write(createLogger({ level, destination: { write: (line) => lines.push(line) } }));
  return lines;
}

test('a line is JSON with level, time, fields and a constant message', () => {
  const [line = ''] = logged((log) => log.info('machine rented', { instanceId: '5' }));
  expect(JSON.parse(line)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    instanceId: '5',
    msg: 'machine rented',
  });
});

test('a child’s fields are on each of its lines', () => {
  const [line = ''] = logged((log) => log.child({ controller: 'c' }).child({ name: 'n' }).warn('w'));
  expect(JSON.parse(line)).toMatchObject({ controller: 'c', name: 'n', level: 'warn' });
});

test('lines below the level are dropped', () => {
  expect(logged((log) => log.debug('d'))).toEqual([]);
  expect(logged((log) => log.debug('d'), 'debug')).toHaveLength(1);
});

test('no secret gets out: neither as a field, nor nested, nor in an error, nor in headers', () => {
  const key = 'canary-key';
  const lines = logged((log) => {
    log.error('failed', {
      key: new Secret(key),
      nested: { deep: { key: new Secret(key) } },
      error: Object.assign(new Error('failed'), { key: new Secret(key) }),
      headers: { authorization: `Bearer ${key}` },
      request: { headers: { authorization: `Bearer ${key}` }, authorization: `Bearer ${key}` },
    });
  });
  expect(lines.join('')).toContain('[redacted]');
  expect(lines.join('')).not.toContain(key);
});

test('an error keeps its kind of text and its stack', () => {
  const [line = ''] = logged((log) => log.error('failed', { error: new TypeError('wrong') }));
  expect(JSON.parse(line).error).toMatchObject({ type: 'TypeError', message: 'wrong' });
});

test('F12: the class of an error is the name that it gives itself, whatever the minified constructor is called', () => {
  class Xo extends Error {
    override readonly name = 'KubeError';
  }
  const [line = ''] = logged((log) => log.error('failed', { error: new Xo('gone') }));
  expect(JSON.parse(line).error).toMatchObject({ type: 'KubeError', message: 'gone' });
});

test('F12: every error class names itself', () => {
  const root = join(import.meta.dirname, '..');
  const classes = globSync('**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => readFileSync(join(root, path), 'utf8').split(/^(?=(?:export )?class )/m))
    .filter((text) => /^(export )?class \w+ extends \w*Error\b/.test(text));
  expect(classes.length).toBeGreaterThan(20);
  const unnamed = classes.filter((text) => {
    const name = /class (\w+)/.exec(text)?.[1];
    return !text.includes(`name = '${name}'`);
  });
  expect(unnamed.map((text) => text.slice(0, 60))).toEqual([]);
});

test('a process ends although its log has no reader any more', async () => {
  const code = `
    const { createLogger } = await import(${JSON.stringify(join(import.meta.dirname, 'pino-logger.ts'))});
    process.stdin.once('data', () => {
      const log = createLogger({ level: 'info' });
      for (const message of ['stopping', 'lease released', 'operator stopped']) log.info(message);
      process.exit(7);
    });
    process.stderr.write('ready');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'pipe' });
  try {
    await once(child.stderr, 'data');
    child.stdout.destroy();
    child.stdin.write('go\n');
    expect(await once(child, 'exit')).toEqual([7, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
