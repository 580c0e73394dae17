import type { Contract } from '../tables/contracts.ts';

/*
 * Files of a machine for the command endpoint: a real folder while machines run as processes, else a model in the
 * world. Paths have one spelling: from the container's root, without a slash at either end; `''` is the root.
 */

/** A file or a folder. */
export interface MachineFile {
  readonly isFolder: boolean;
  readonly bytes: number;
  /** Last change, epoch milliseconds. */
  readonly changedAt: number;
}

/** File system of one machine. No method follows a symbolic link out of it. */
export interface MachineFiles {
  /** Returns the file or folder; undefined if it does not exist. */
  find(path: string): MachineFile | undefined;
  /** Returns the sorted names in a folder; none if it is no folder. */
  names(path: string): readonly string[];
  /** Deletes a file, or a folder with everything in it. An absent one is no error. */
  remove(path: string): void;
}

/** Sizes of modelled files by path; a name with a final slash is a folder. */
export type FileSizes = Readonly<Record<string, number>>;

/** Returns the files of a container that has just started. PURE. */
function newFiles({ onstart }: Pick<Contract, 'onstart'>): FileSizes {
  const script: FileSizes = onstart ? { 'root/onstart.sh': Buffer.byteLength(onstart) } : {};
  return { ...script, 'tmp/': 0, 'var/tmp/': 0, 'workspace/': 0 };
}

/** Returns the modelled files of a contract. `changed` is called with the files after each removal. */
export function modelledFiles(
  contract: Pick<Contract, 'createdAt' | 'files' | 'onstart'>,
  changed: (files: FileSizes) => void,
): MachineFiles {
  let files = contract.files ?? newFiles(contract);
  const isBelow = (path: string) => (name: string) => path === '' || name.startsWith(`${path}/`);
  return {
    find(path) {
      const isFolder = path === '' || Object.keys(files).some(isBelow(path));
      if (!isFolder && !Object.hasOwn(files, path)) return undefined;
      return { isFolder, bytes: isFolder ? 0 : (files[path] ?? 0), changedAt: contract.createdAt };
    },
    names(path) {
      const start = path === '' ? 0 : path.length + 1;
      const below = Object.keys(files).filter(isBelow(path));
      const names = below.map((name) => name.slice(start).split('/')[0] ?? '');
      return [...new Set(names)].filter((name) => name !== '').sort();
    },
    remove(path) {
      const isGone = (name: string) => name === path || isBelow(path)(name);
      files = Object.fromEntries(Object.entries(files).filter(([name]) => !isGone(name)));
      changed(files);
    },
  };
}

/** Disks of machines that run as processes. */
export interface MachineDisks {
  files(contract: Contract): MachineFiles;
  /** Returns the last lines that the container wrote, at most `max`; none before its first start. */
  log(contract: Contract, max: number): readonly string[];
}
