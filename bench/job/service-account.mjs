/** Preloaded into a relay of the bench: it finds its ServiceAccount in the folder BENCH_SERVICE_ACCOUNT, as in a Pod. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const MOUNTED = '/var/run/secrets/kubernetes.io/serviceaccount';
const { readFile } = fs.promises;

fs.promises.readFile = (path, ...rest) => {
  const isMounted = typeof path === 'string' && path.startsWith(MOUNTED);
  return readFile(
    isMounted ? join(process.env.BENCH_SERVICE_ACCOUNT, path.slice(MOUNTED.length)) : path,
    ...rest,
  );
};
syncBuiltinESMExports();
