import { describe, expect, test } from 'vitest';
import {
  copySide,
  directionOf,
  type KnownPath,
  type PathKind,
  planCopy,
  readProbe,
  rsyncEnd,
} from './copy.ts';

describe('an end of a copy', () => {
  test.each([
    ['gpui/trainer:/data', 'gpui/trainer', '/data'],
    ['trainer:data', 'trainer', './data'],
    ['trainer:', 'trainer', '.'],
    ['trainer:~', 'trainer', '.'],
    ['trainer:~/a b', 'trainer', './a b'],
    ['trainer:~//etc', 'trainer', './etc'],
    ['trainer:-rf', 'trainer', './-rf'],
    ['4711:/x:y', '4711', '/x:y'],
    ['gpuinstances.gpurental.dev/trainer:a\nb', 'gpuinstances.gpurental.dev/trainer', './a\nb'],
  ])('%j is on a machine', (text, target, path) => {
    expect(copySide(text)).toEqual({ type: 'remote', target, path });
  });

  test.each(['a', './a:b', '/a:b', 'a/b/c:d', 'folder/x y:z', '../x:1', ''])('%j is here', (path) => {
    expect(copySide(path)).toEqual({ type: 'local', path });
  });

  test('is on a machine for exactly one of them', () => {
    const [here, there] = [copySide('a'), copySide('x:a')];
    expect(directionOf(there, here)).toEqual({ direction: 'download', target: 'x' });
    expect(directionOf(here, there)).toEqual({ direction: 'upload', target: 'x' });
    expect(() => directionOf(here, here)).toThrow('Neither end is on a machine.');
    expect(() => directionOf(there, there)).toThrow('Both ends are on machines.');
  });
});

describe('the plan of a copy', () => {
  const at = (path: string, kind: PathKind): KnownPath => ({ path, kind, shown: path });

  test.each([
    ['/a/f', 'file', '/b', 'folder', '/b/f', false],
    ['/a/f', 'file', '/b/g', 'none', '/b/g', false],
    ['/a/f', 'file', '/b/g', 'file', '/b/g', false],
    ['/a/d', 'folder', '/b', 'folder', '/b/d', true],
    ['/a/d/', 'folder', '/b/', 'folder', '/b/d', true],
    ['/a/d', 'folder', '/b/e', 'none', '/b/e', true],
    ['.', 'folder', '/b', 'folder', '/b/', true],
    ['..', 'folder', '/b', 'folder', '/b/', true],
    ['/', 'folder', '/b', 'folder', '/b/', true],
    ['./-x', 'file', './~y', 'folder', './~y/-x', false],
  ] as const)('from %s (%s) to %s (%s) writes %s', (from, kind, to, there, result, isFolder) => {
    expect(planCopy(at(from, kind), at(to, there))).toEqual({ from, to: result, isFolder });
  });

  test.each([
    ['/a', 'none', '/b', 'folder', 'There is no /a.'],
    ['/a', 'nowhere', '/b', 'folder', 'There is no /a.'],
    ['/a', 'file', '/b/c', 'nowhere', '/b/c: its folder does not exist.'],
    ['/a', 'folder', '/b', 'file', '/b is a file, and /a is a folder.'],
    ['/a', 'file', '/b/', 'none', 'There is no folder /b/.'],
  ] as const)('from %s (%s) to %s (%s) is refused', (from, kind, to, there, message) => {
    expect(() => planCopy(at(from, kind), at(to, there))).toThrow(message);
  });
});

test.each([
  ['gpu-rent-probe yes folder\n', { hasRsync: true, kind: 'folder' }],
  ['Welcome!\r\ngpu-rent-probe no nowhere\r\n', { hasRsync: false, kind: 'nowhere' }],
  ['gpu-rent-probe yes everything\n', undefined],
  ['', undefined],
])('the answer %j of a machine is read', (said, probe) => {
  expect(readProbe(said)).toEqual(probe);
});

test.each([
  [0, 'done'],
  [23, 'incomplete'],
  [12, 'cut'],
  [255, 'cut'],
  [11, 'failed'],
])('rsync that ends with %d is %s', (code, end) => {
  expect(rsyncEnd(code)).toBe(end);
});
