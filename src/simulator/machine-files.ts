import { gunzipSync } from 'node:zlib';
import { programOf } from './instances/container-program.ts';
import type { Settings } from './settings.ts';
import type { Contract } from './tables/contracts.ts';

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

/** Folder in which a script keeps what it learned about its machine, as the operator's start scripts name it. */
export const OWN_FOLDER = /\$\{GPURENTAL_DIR:-\/([^}\s]+)\}/;
const PACKED = /[A-Za-z0-9+/=]{100,}/;
/** Maximum size of an unpacked script. */
const MAX_SCRIPT_BYTES = 1_048_576;

/**
 * Returns the contract with the files that its script has created, for a container that runs: a script that tries the
 * machine's own key creates `ok` if the image has a client for the call. Such a script keeps a count in `t`. The model
 * writes both at the start, and `t` is never read. PURE.
 */
export function withStartFiles(contract: Contract, settings: Pick<Settings, 'containers'>): Contract {
  const program = programOf(contract, settings);
  const folder = program.type === 'script' ? OWN_FOLDER.exec(unpacked(program.text))?.[1] : undefined;
  if (contract.actualStatus !== 'running' || folder === undefined) return contract;
  const proof: FileSizes = settings.containers.imageHasClient ? { [`${folder}/ok`]: 1 } : {};
  const files = { ...(contract.files ?? newFiles(contract)), [`${folder}/t`]: 3, ...proof };
  return { ...contract, files };
}

/** Returns a script that unpacks itself as the text that it runs; any other one unchanged. */
export function unpacked(script: string): string {
  const [packed] = PACKED.exec(script) ?? [];
  if (packed === undefined) return script;
  try {
    const options = { maxOutputLength: MAX_SCRIPT_BYTES };
    return script + gunzipSync(Buffer.from(packed, 'base64'), options).toString('utf8');
  } catch {
    return script;
  }
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
