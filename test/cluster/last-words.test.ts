import { describe, expect, test } from 'vitest';
import { lastWordsOf } from './server-process.ts';

const FULL = `{"level":"info","msg":"opened backend db"}
{"level":"warn","caller":"wal/wal.go:175","msg":"failed to preallocate","error":"no space left on device"}
{"level":"panic","msg":"failed to create WAL","error":"no space left on device"}
panic: failed to create WAL

goroutine 1 [running]:
go.etcd.io/etcd/server/v3/etcdserver.bootstrap({{0x456b77b, 0x7}, {0x0, 0x0}})
main.main()
	gpu-rental-operator/control-plane/main.go:29 +0x97
`;

describe('the last words of a server', () => {
  test('are what it said, without the stack behind it', () => {
    const words = lastWordsOf(FULL);
    expect(words).toContain('panic: failed to create WAL');
    expect(words).not.toContain('main.go');
  });

  test('say what to do where the disk is full', () => {
    expect(lastWordsOf(FULL)).toMatch(/What to do: make room in .*TMPDIR/);
    expect(lastWordsOf('bind: address already in use\n')).toBe('bind: address already in use');
  });

  test('are the last lines of many', () => {
    const lines = Array.from({ length: 100 }, (_, line) => `line ${line}`);
    expect(lastWordsOf(lines.join('\n')).split('\n')).toEqual(lines.slice(-8));
  });
});
