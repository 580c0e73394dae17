import { posix } from 'node:path';
import type { MachineFile, MachineFiles } from '../machine-files.ts';
import { invalidArgs } from '../refusal.ts';
import type { Settings } from '../settings.ts';

/*
 * The command door of the public service: `ls`, `rm` and `du` on the files of a machine, also while it is stopped. The
 * commands run here, not in a shell, and cannot leave the files that they get.
 */

const NAMES = ['ls', 'rm', 'du'] as const;

/** A parsed command. */
export interface FileCommand {
  readonly name: (typeof NAMES)[number];
  /** Letters of short options. */
  readonly options: ReadonlySet<string>;
  /** Paths as written; `.` if there are none. */
  readonly paths: readonly string[];
}

const OPTIONS: Readonly<Record<FileCommand['name'], string>> = { ls: '1Aahl', rm: 'Rfr', du: 'ahks' };

/**
 * Parses a command line. It supports quotes and backslashes as in a shell, and no other syntax. Throws a 400
 * `invalid_args` Refusal for another program, an unknown option, an open quote, and `rm` without a path.
 */
export function readFileCommand(text: string): FileCommand {
  const [first = '', ...rest] = wordsOf(text);
  const name = NAMES.find((known) => known === first);
  if (!name) throw invalidArgs('command must begin with ls, rm or du.');
  const end = rest.indexOf('--');
  const flagged = end === -1 ? rest : rest.slice(0, end);
  const isOption = (text: string): boolean => text.startsWith('-') && text !== '-';
  const options = new Set(flagged.filter(isOption).flatMap((flag) => [...flag.slice(1)]));
  const unknown = [...options].find((letter) => !OPTIONS[name].includes(letter));
  if (unknown !== undefined) throw invalidArgs(`${name}: -${unknown} is not an option here.`);
  const paths = [...flagged.filter((text) => !isOption(text)), ...(end === -1 ? [] : rest.slice(end + 1))];
  if (name === 'rm' && paths.length === 0) throw invalidArgs('rm needs a path.');
  return { name, options, paths: paths.length === 0 ? ['.'] : paths };
}

const TOKEN = /(?:[^\s"'\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+/y;

function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
    if (at >= text.length) return words;
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) throw invalidArgs('command has a quote or a backslash without its end.');
    words.push(unquoted(token));
    at += token.length;
  }
}

function unquoted(token: string): string {
  return token.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, single, double, escaped) =>
    double === undefined ? (single ?? escaped) : double.replace(/\\(["\\$`])/g, '$1'),
  );
}

/** Maximum characters of an output. */
const MAX_OUTPUT = 65_536;
/** Maximum entries that `du` visits: more would delay every other call. */
const MAX_VISITS = 20_000;

/** Returns the output of a command, errors included: one text, as the service shows it. */
export function runFileCommand(
  command: FileCommand,
  files: MachineFiles,
  { commandPaths }: Pick<Settings['containers'], 'commandPaths'>,
): string {
  const lines = command.paths.flatMap((written) => {
    const isServed = commandPaths === 'both' || written.startsWith('/') === (commandPaths === 'absolute');
    const target = { written, path: rooted(written) };
    const file = isServed || written === '.' ? files.find(target.path) : undefined;
    if (!file) return command.options.has('f') ? [] : [absentLine(command.name, written)];
    return RUN[command.name]({ command, files }, { ...target, file });
  });
  return lines
    .map((line) => `${line}\n`)
    .join('')
    .slice(0, MAX_OUTPUT);
}

const rooted = (path: string): string => posix.normalize(`/${path}`).replace(/^\/+|\/+$/g, '');

const absentLine = (name: FileCommand['name'], path: string): string =>
  `${name}: cannot ${name === 'rm' ? 'remove' : 'access'} '${path}': No such file or directory`;

interface Run {
  readonly command: FileCommand;
  readonly files: MachineFiles;
}

interface Target {
  readonly written: string;
  readonly path: string;
  readonly file: MachineFile;
}

const RUN: Readonly<Record<FileCommand['name'], (run: Run, target: Target) => readonly string[]>> = {
  ls: listFiles,
  rm: removeFiles,
  du: measureFiles,
};

function listFiles({ command, files }: Run, { written, path, file }: Target): readonly string[] {
  const { options, paths } = command;
  if (!file.isFolder) return [entryLine(options, written, file)];
  const isShown = (name: string): boolean => !name.startsWith('.') || options.has('a') || options.has('A');
  const lines = files
    .names(path)
    .filter(isShown)
    .map((name) => entryLine(options, name, files.find(posix.join(path, name))));
  const own = options.has('a') ? ['.', '..'].map((name) => entryLine(options, name, file)) : [];
  const head = paths.length > 1 ? [`${written}:`] : [];
  const total = options.has('l') ? [`total ${lines.length * 4}`] : [];
  return [...head, ...total, ...own, ...lines];
}

const FOLDER_BYTES = 4096;

function entryLine(options: FileCommand['options'], name: string, file: MachineFile | undefined): string {
  if (!options.has('l')) return name;
  const { isFolder, bytes, changedAt } = file ?? { isFolder: false, bytes: 0, changedAt: 0 };
  const at = new Date(changedAt).toISOString().slice(0, 16).replace('T', ' ');
  const mode = isFolder ? 'drwxr-xr-x 2' : '-rw-r--r-- 1';
  return `${mode} root root ${isFolder ? FOLDER_BYTES : bytes} ${at} ${name}`;
}

function removeFiles({ command, files }: Run, { written, path, file }: Target): readonly string[] {
  const isRecursive = command.options.has('r') || command.options.has('R');
  if (path === '') return [`rm: it is dangerous to operate recursively on '${written}'`];
  if (file.isFolder && !isRecursive) return [`rm: cannot remove '${written}': Is a directory`];
  files.remove(path);
  return [];
}

interface Measured {
  readonly path: string;
  readonly kib: number;
  readonly isFolder: boolean;
}

const kibOf = ({ isFolder, bytes }: MachineFile): number =>
  isFolder ? FOLDER_BYTES / 1024 : Math.ceil(bytes / FOLDER_BYTES) * (FOLDER_BYTES / 1024);

function measureFiles({ command, files }: Run, { written, path, file }: Target): readonly string[] {
  const { options } = command;
  const found: Measured[] = [];
  let visits = 0;
  const measure = (shown: string, at: string, one: MachineFile): number => {
    visits += 1;
    let kib = kibOf(one);
    if (one.isFolder) {
      for (const name of files.names(at)) {
        const below = visits < MAX_VISITS ? files.find(posix.join(at, name)) : undefined;
        if (below) kib += measure(`${shown.replace(/\/$/, '')}/${name}`, posix.join(at, name), below);
      }
    }
    found.push({ path: shown, kib, isFolder: one.isFolder });
    return kib;
  };
  measure(written, path, file);
  const shown = options.has('s') ? found.slice(-1) : found.filter((one, at) => isShownBySize(one, at));
  return shown.map((one) => `${options.has('h') ? `${one.kib}K` : one.kib}\t${one.path}`);

  function isShownBySize({ isFolder }: Measured, at: number): boolean {
    return isFolder || options.has('a') || at === found.length - 1;
  }
}
