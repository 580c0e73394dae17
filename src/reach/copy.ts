import { basename } from 'node:path';
import { bracketedHost } from '../lib/host-port.ts';
import { ReachError } from './reach-error.ts';
import { type Login, NOTICE_CUTS, sshOptions } from './ssh-arguments.ts';
import type { SshTarget } from './ssh-target.ts';

/** An end of a copy: a local path, or one on a machine. */
export type CopySide =
  | { readonly type: 'local'; readonly path: string }
  | { readonly type: 'remote'; readonly target: string; readonly path: string };

/**
 * Parses one end: `gpui/trainer:/data`, `trainer:data` and `4711:/data` are on a machine; anything else, and `./a:b`,
 * is local.
 */
export function copySide(text: string): CopySide {
  const [, target, path] =
    /^((?:[a-z]+(?:\.[a-z0-9.]+)?\/)?[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?):(.*)$/is.exec(text) ?? [];
  if (target === undefined || path === undefined) return { type: 'local', path: text };
  return { type: 'remote', target, path: pathThere(path) };
}

/**
 * Returns the path relative to the home folder of the login, never in the form of an option. `~` is home, which no
 * shell expands.
 */
function pathThere(path: string): string {
  const relative = path.replace(/^~\/*/, '');
  if (relative === '') return '.';
  return relative.startsWith('/') && !path.startsWith('~') ? relative : `./${relative}`;
}

/** Type of the target of a path; `nowhere`: its folder does not exist either. */
export type PathKind = 'folder' | 'file' | 'none' | 'nowhere';

/** A path and its type. */
export interface KnownPath {
  readonly path: string;
  readonly kind: PathKind;
  /** Path as the user wrote it, for messages. */
  readonly shown: string;
}

/** A copy whose result has only one possible name. */
export interface CopyPlan {
  readonly from: string;
  /** Path of the file or folder after the copy. */
  readonly to: string;
  readonly isFolder: boolean;
}

/**
 * Plans the copy like `cp -r`: into an existing folder under its own name, else to the given name. Throws if the source
 * does not exist or the target cannot be written.
 */
export function planCopy(source: KnownPath, target: KnownPath): CopyPlan {
  if (source.kind === 'none' || source.kind === 'nowhere')
    throw new ReachError('missing', `There is no ${source.shown}.`);
  const isFolder = source.kind === 'folder';
  if (target.kind === 'folder') {
    const name = ownName(source.path);
    return { from: source.path, to: `${withSlash(target.path)}${name}`, isFolder };
  }
  if (target.kind === 'nowhere')
    throw new ReachError(
      'failed',
      `${target.shown}: its folder does not exist.`,
      'Create the folder, or name another target.',
    );
  if (isFolder && target.kind === 'file')
    throw new ReachError(
      'failed',
      `${target.shown} is a file, and ${source.shown} is a folder.`,
      'Name a folder as the target.',
    );
  if (!isFolder && target.path.endsWith('/'))
    throw new ReachError(
      'failed',
      `There is no folder ${target.shown}.`,
      'Create it, or leave the slash at the end out.',
    );
  return { from: source.path, to: target.path, isFolder };
}

/** Returns the last part of a path; empty for `.`, `..` and `/`, whose content is copied. */
function ownName(path: string): string {
  const name = basename(path);
  return name === '.' || name === '..' ? '' : name;
}

/**
 * Returns a program for a machine that prints the type of a path, and whether rsync exists, for {@link readProbe}.
 */
export function probeWords(path: string): readonly string[] {
  const script = [
    'if command -v rsync >/dev/null 2>&1; then r=yes; else r=no; fi',
    'if [ -d "$1" ]; then k=folder',
    'elif [ -e "$1" ] || [ -L "$1" ]; then k=file',
    'elif [ -d "$(dirname -- "$1")" ]; then k=none; else k=nowhere; fi',
    'printf "gpu-rent-probe %s %s\\n" "$r" "$k"',
  ].join('\n');
  return ['sh', '-c', script, 'sh', path];
}

/** Returns the machine's answer; undefined for any other output. A shell there may print a greeting first. */
export function readProbe(
  output: string,
): { readonly hasRsync: boolean; readonly kind: PathKind } | undefined {
  const [, rsync, kind] = /^gpu-rent-probe (yes|no) (folder|file|none|nowhere)\s*$/m.exec(output) ?? [];
  return kind === undefined ? undefined : { hasRsync: rsync === 'yes', kind: kind as PathKind };
}

/** A planned copy and the machine that it is to or from. */
export interface Copy extends CopyPlan {
  readonly direction: 'download' | 'upload';
  readonly machine: SshTarget;
  readonly login: Login;
  readonly showsProgress: boolean;
}

/** Folder next to the target for the received part of an interrupted copy. */
export const PARTIAL_FOLDER = '.gpu-rent-partial';

/**
 * Returns the arguments of rsync. It compares existing data before it continues, so a changed file is never mixed
 * with its older half. A download follows no link out of its folder, and ignores files that are added during the
 * copy.
 */
export function rsyncArguments(copy: Copy): readonly string[] {
  const { machine, login, direction, isFolder, showsProgress } = copy;
  const ssh = ['ssh', ...sshOptions(machine, login), ...NOTICE_CUTS, '-o', 'LogLevel=ERROR'];
  const from = isFolder ? withSlash(copy.from) : copy.from;
  const to = isFolder ? withSlash(copy.to) : copy.to;
  const there = (path: string) => `${login.user}@${bracketedHost(machine.host)}:${path}`;
  return [
    ...['-s', '-r', '-l', '-t', '-E', `--partial-dir=${PARTIAL_FOLDER}`],
    ...(direction === 'download' ? ['--safe-links', '--no-inc-recursive'] : []),
    ...(showsProgress ? ['--info=progress2', '--outbuf=N'] : []),
    ...['-e', ssh.map(rsyncQuoted).join(' '), '--'],
    ...(direction === 'download'
      ? [there(withoutPatterns(from)), localPath(to)]
      : [localPath(from), there(to)]),
  ];
}

/** Returns the arguments of scp, over SFTP, where names are not shell patterns. */
export function scpArguments(copy: Copy): readonly string[] {
  const { machine, login, direction, isFolder, showsProgress } = copy;
  const there = (path: string) => `${login.user}@${bracketedHost(machine.host)}:${path}`;
  // scp copies a folder into an existing one of the same name, so its content is named instead.
  const from = isFolder ? `${withSlash(copy.from)}.` : copy.from;
  return [
    ...['-s', ...(showsProgress ? [] : ['-q']), ...(isFolder ? ['-r'] : [])],
    ...sshOptions(machine, login).map((option) => (option === '-p' ? '-P' : option)),
    ...[...NOTICE_CUTS, '-o', 'LogLevel=ERROR', '--'],
    ...(direction === 'download'
      ? [there(scpName(from)), localPath(copy.to)]
      : [localPath(from), there(copy.to)]),
  ];
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** Returns a local path that is not parsed as an option or, because of a colon, as a remote path. */
function localPath(path: string): string {
  return path.startsWith('/') ? path : `./${path}`;
}

/**
 * Returns the source of a download as one literal name, since rsync would read it as a pattern. A backslash is only
 * an escape if there is a pattern.
 */
function withoutPatterns(path: string): string {
  return /[*?[\]]/.test(path) ? path.replace(/[*?[\]]/g, '\\$&') : path;
}

/** Returns true if rsync can receive the path as one name: it refuses a pattern with a backslash. */
export function isNameForRsync(path: string): boolean {
  return !(path.includes('\\') && /[*?[\]]/.test(path));
}

/** Returns the literal name for scp, where a backslash is always an escape. */
function scpName(path: string): string {
  return path.replace(/[*?[\]\\]/g, '\\$&');
}

/** Returns one word of rsync's `-e`, which has its own rules for splitting. */
function rsyncQuoted(argument: string): string {
  return /^[A-Za-z0-9@%+=:,./_-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "''")}'`;
}

/** Returns the result of rsync by its exit code. */
export function rsyncEnd(code: number): 'done' | 'incomplete' | 'cut' | 'failed' {
  if (code === 0) return 'done';
  // Some files could not be read or written, or vanished under way.
  if (code === 23 || code === 24) return 'incomplete';
  // Exit codes for socket, protocol stream and timeouts, and those of ssh and of signals.
  return [10, 12, 20, 30, 35, 255].includes(code) ? 'cut' : 'failed';
}

/** Throws unless exactly one end is on a machine. */
export function directionOf(
  from: CopySide,
  to: CopySide,
): { readonly direction: Copy['direction']; readonly target: string } {
  if (from.type === 'remote' && to.type === 'local') return { direction: 'download', target: from.target };
  if (from.type === 'local' && to.type === 'remote') return { direction: 'upload', target: to.target };
  throw new ReachError(
    'input',
    from.type === 'local' ? 'Neither end is on a machine.' : 'Both ends are on machines.',
    from.type === 'local'
      ? 'Write one end as gpui/name:path. A file here whose name has a colon: ./a:b.'
      : 'Copy to this machine first, then to the other one.',
  );
}
