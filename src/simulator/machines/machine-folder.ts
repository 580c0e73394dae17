import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MachineFile, MachineFiles } from '../machine-files.ts';

/** Home folder of a machine, from its root. */
export const HOME = 'root';
/** Folders of a machine that its programs see under their usual paths, if namespaces are permitted. */
export const MOUNTED_FOLDERS = [HOME, 'var/tmp', 'tmp'] as const;

/** Creates the folders of a machine that are missing. */
export function createFolders(root: string): void {
  for (const folder of [...MOUNTED_FOLDERS, 'workspace']) mkdirSync(join(root, folder), { recursive: true });
}

/**
 * Writes a file of a machine, from its root. Programs may have replaced the file or its folder by a link; links are
 * never followed.
 */
export function writeMachineFile(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  if (!isOwn(root, path)) return;
  rmSync(join(root, path), { recursive: true, force: true });
  writeFileSync(join(root, path), text);
}

/**
 * Returns the real files below a folder. A symbolic link is a file: a path through one does not exist, because it could
 * lead out of the machine.
 */
export function realFiles(root: string): MachineFiles {
  const find = (path: string): MachineFile | undefined => {
    if (!isOwn(root, path)) return undefined;
    const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
    return stats && { isFolder: stats.isDirectory(), bytes: stats.size, changedAt: stats.mtimeMs };
  };
  return {
    find: (path) => unlessGone(() => find(path)),
    names: (path) =>
      unlessGone(() => (find(path)?.isFolder ? readdirSync(join(root, path)).sort() : [])) ?? [],
    remove(path) {
      if (path !== '' && isOwn(root, path)) rmSync(join(root, path), { recursive: true, force: true });
    },
  };
}

/** Returns true if every folder on the way to a path is a real one. */
function isOwn(root: string, path: string): boolean {
  const folders = path.split('/').slice(0, -1);
  return folders.every(
    (_, at) =>
      lstatSync(join(root, ...folders.slice(0, at + 1)), { throwIfNoEntry: false })?.isDirectory() === true,
  );
}

/**
 * Programs of the machine change its files concurrently: a path that vanished, or is no folder any more, does not
 * exist.
 */
function unlessGone<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
