import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isBuilt } from './build-cache.ts';
import { buildOnce } from './go-build.ts';
import { CONTROL_PLANE, KUBERNETES_VERSION } from './go-modules.ts';
import { startOwnControlPlane } from './own-control-plane.ts';
import type { Way } from './way.ts';

/** kube-apiserver with etcd, controllers and kubectl, built from Go modules once and kept in this user's cache. */
export const goToolchain: Way = {
  source: 'go-toolchain',
  needs: `Go 1.26 or newer on PATH: kube-apiserver ${KUBERNETES_VERSION} is built from its modules, once, in 4 to 8 minutes`,
  async check(env) {
    if (isBuilt(env)) return { type: 'found' };
    try {
      // In the module's folder: an older go that may not fetch a newer one says so here.
      await promisify(execFile)('go', ['list', '-m'], {
        cwd: CONTROL_PLANE.folder,
        env: { ...env, GOWORK: 'off' },
      });
      return { type: 'found' };
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      const output =
        error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
      return { type: 'unusable', why: isMissing ? 'go is not on PATH' : output };
    }
  },
  async prepare({ env, report }) {
    await buildOnce(env, report);
  },
  async start(options) {
    const folder = await buildOnce(options.env, options.report);
    const path = (name: string) => join(folder, name);
    return startOwnControlPlane(
      {
        source: 'go-toolchain',
        programs: {
          etcd: path('etcd'),
          kubeApiserver: path('kube-apiserver'),
          controllers: { path: path('test-controllers'), args: [] },
        },
        kubectlPath: path('kubectl'),
      },
      options,
    );
  },
};
