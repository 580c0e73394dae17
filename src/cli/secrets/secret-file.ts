import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Secret } from '../../lib/secret.ts';
import { usageError } from '../command-error.ts';
import { makeFolder } from '../make-folder.ts';

/** A file for a secret that is only shown once. Without a secret it leaves no file behind. */
export interface SecretFile extends AsyncDisposable {
  write(secret: Secret | string): Promise<void>;
}

/**
 * Creates a file of mode 0600 before its secret exists, so that an unusable path fails before a secret is created and
 * lost. Rejects with a usage error for such a path, and for an existing file.
 */
export async function reserveSecretFile(path: string, flag: string): Promise<SecretFile> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw usageError(`${flag}: ${path} is there already and is not written over.`, 'Name another file.');
    throw usageError(`${flag}: cannot write ${path} (${error.code}).`, 'Name a file that can be written.');
  });
  let written = false;
  return {
    async write(secret) {
      await writeAlone(file, secret);
      written = true;
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (!written) await unlink(path);
    },
  };
}

/**
 * Writes a secret that may be renewed; only this user can read its folder. Rejects with the error of the file system.
 */
export async function replaceSecret(path: string, secret: Secret): Promise<void> {
  await makeFolder(dirname(path), 0o700);
  const file = await open(path, 'w', 0o600);
  try {
    await writeAlone(file, secret);
  } finally {
    await file.close();
  }
}

/** Sets the mode and then writes: a file that others can read must never contain the secret. */
async function writeAlone(file: FileHandle, secret: Secret | string): Promise<void> {
  await file.chmod(0o600);
  await file.writeFile(`${typeof secret === 'string' ? secret : secret.reveal()}\n`);
}
