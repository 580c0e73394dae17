import { describe, expect, test } from 'vitest';
import { modelledFiles } from '../machine-files.ts';
import { Refusal } from '../refusal.ts';
import { readFileCommand, runFileCommand } from './file-command.ts';

const CONTRACT = { createdAt: Date.UTC(2026, 0, 15, 12), onstart: 'date' };
const FILES = {
  'var/tmp/.gpurental/exit.0.abc': 0,
  'var/tmp/.gpurental/run': 5000,
  'data/a b': 1,
  'data/.hidden': 1,
  'empty/': 0,
};

/** Runs commands one after the other on the same files; returns the output of the last one. */
function outputOf(commands: readonly string[], commandPaths: 'absolute' | 'relative' | 'both' = 'both') {
  let files: Readonly<Record<string, number>> = FILES;
  const outputs = commands.map((text) =>
    runFileCommand(
      readFileCommand(text),
      modelledFiles({ ...CONTRACT, files }, (left) => (files = left)),
      { commandPaths },
    ),
  );
  return outputs.at(-1);
}

describe('the command door', () => {
  test.each<[string, string]>([
    ['ls', 'data\nempty\nvar\n'],
    ['ls /', 'data\nempty\nvar\n'],
    ['ls ../../..', 'data\nempty\nvar\n'],
    ['ls var/tmp/.gpurental', 'exit.0.abc\nrun\n'],
    ['ls /var/tmp/.gpurental/', 'exit.0.abc\nrun\n'],
    ['ls var/tmp/.gpurental/run', 'var/tmp/.gpurental/run\n'],
    ['ls empty', ''],
    ['ls data', 'a b\n'],
    ['ls -A data', '.hidden\na b\n'],
    ['ls -a data', '.\n..\n.hidden\na b\n'],
    [`ls -l "data/a b"`, '-rw-r--r-- 1 root root 1 2026-01-15 12:00 data/a b\n'],
    ['ls -l data', 'total 4\n-rw-r--r-- 1 root root 1 2026-01-15 12:00 a b\n'],
    ['ls data empty', 'data:\na b\nempty:\n'],
    ['ls none', "ls: cannot access 'none': No such file or directory\n"],
    ['ls -- -x', "ls: cannot access '-x': No such file or directory\n"],
    ['ls data/a\\ b', 'data/a b\n'],
    ["ls 'data/a b'", 'data/a b\n'],
    ['du -s data', '12\tdata\n'],
    ['du -sh data', '12K\tdata\n'],
    ['du var', '12\tvar/tmp/.gpurental\n16\tvar/tmp\n20\tvar\n'],
    ['du -a data', '4\tdata/.hidden\n4\tdata/a b\n12\tdata\n'],
    ['du none', "du: cannot access 'none': No such file or directory\n"],
    ['rm none', "rm: cannot remove 'none': No such file or directory\n"],
    ['rm -f none', ''],
    ['rm data', "rm: cannot remove 'data': Is a directory\n"],
    ['rm -rf /', "rm: it is dangerous to operate recursively on '/'\n"],
  ])('%s', (command, output) => {
    expect(outputOf([command])).toBe(output);
  });

  test('rm deletes a file, and with -r a folder, and nothing else', () => {
    expect(outputOf(['rm "data/a b"', 'ls -A data'])).toBe('.hidden\n');
    expect(outputOf(['rm -rf var/tmp', 'ls'])).toBe('data\nempty\n');
  });

  test.each([
    ['absolute', 'ls var', 'ls /var'],
    ['relative', 'ls /var', 'ls var'],
  ] as const)('serves only %s paths when the setting says so', (commandPaths, refused, served) => {
    expect(outputOf([refused], commandPaths)).toContain('No such file or directory');
    expect(outputOf([served], commandPaths)).toBe('tmp\n');
    expect(outputOf(['ls'], commandPaths)).toBe('data\nempty\nvar\n');
  });

  test('a new container has its script and the usual folders', () => {
    const files = modelledFiles(CONTRACT, () => undefined);
    expect(files.names('')).toEqual(['root', 'tmp', 'var', 'workspace']);
    expect(files.find('root/onstart.sh')).toMatchObject({ isFolder: false, bytes: 4 });
  });

  test.each(['reboot', 'lsof', 'ls;reboot', '', ' ', 'rm', 'rm -rf', 'ls -Z', "ls 'a", 'ls "a', 'ls a\\'])(
    'refuses %j',
    (text) => {
      expect(() => readFileCommand(text)).toThrow(Refusal);
    },
  );

  test('knows no variable, no pattern and no second command', () => {
    expect(readFileCommand('ls $HOME *;rm x|y').paths).toEqual(['$HOME', '*;rm', 'x|y']);
  });
});
