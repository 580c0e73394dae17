import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Secret } from '../../lib/secret.ts';
import { usageError } from '../command-error.ts';
import { makeFolder } from '../make-folder.ts';

/** A place for something that is shown once. What was never written leaves no file behind. */
export interface SecretFile extends AsyncDisposable {
  write(secret: Secret | string): Promise<void>;
}

/**
 * Creates a file of mode 0600 before its secret exists, so that a path that cannot be written fails before anything is
 * created whose only copy would be lost. Rejects with a usage error for such a path, and for a file that exists already:
 * none is overwritten.
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
 * Keeps a secret that may be renewed; its folder is made for this user alone. Rejects with the error of the file
 * system.
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

/** The mode first: a file that others could read must not hold the secret for a moment. */
async function writeAlone(file: FileHandle, secret: Secret | string): Promise<void> {
  await file.chmod(0o600);
  await file.writeFile(`${typeof secret === 'string' ? secret : secret.reveal()}\n`);
}
