import { join } from 'node:path';
import { findOnPath, isExecutable } from './kubectl.ts';
import { startOwnControlPlane } from './own-control-plane.ts';
import type { ControlPlanePlan } from './site.ts';
import type { Way } from './way.ts';

/** Finds a program that collects garbage in the folder. envtest's own folder has none. */
function findControllers(folder: string): ControlPlanePlan['controllers'] {
  const own = join(folder, 'test-controllers');
  if (isExecutable(own)) return { path: own, args: [] };
  const path = join(folder, 'kube-controller-manager');
  if (!isExecutable(path)) return undefined;
  const names = [
    'garbage-collector-controller',
    'namespace-controller',
    'clusterrole-aggregation-controller',
  ];
  return { path, args: [`--controllers=${names.join(',')}`, '--leader-elect=false', '--secure-port=0'] };
}

/** The folder that controller-runtime's envtest uses: etcd and kube-apiserver, perhaps kubectl. */
export const kubebuilderAssets: Way = {
  source: 'kubebuilder-assets',
  needs: 'KUBEBUILDER_ASSETS=<a folder with etcd and kube-apiserver, as setup-envtest makes it>',
  async check({ KUBEBUILDER_ASSETS: folder }) {
    if (folder === undefined || folder === '') {
      return { type: 'unusable', why: 'KUBEBUILDER_ASSETS is not set' };
    }
    const missing = ['etcd', 'kube-apiserver'].filter((name) => !isExecutable(join(folder, name)));
    if (missing.length > 0) {
      throw new Error(`KUBEBUILDER_ASSETS=${folder} has no executable ${missing.join(' and no ')}.`);
    }
    return { type: 'asked' };
  },
  async prepare() {},
  async start(options) {
    const folder = options.env.KUBEBUILDER_ASSETS ?? '';
    const controllers = findControllers(folder);
    if (controllers === undefined) {
      options.report(
        `${folder} has no kube-controller-manager: namespaces stay Terminating, owner references are not followed.`,
      );
    }
    const kubectl = join(folder, 'kubectl');
    return startOwnControlPlane(
      {
        source: 'kubebuilder-assets',
        programs: { etcd: join(folder, 'etcd'), kubeApiserver: join(folder, 'kube-apiserver'), controllers },
        kubectlPath: isExecutable(kubectl) ? kubectl : (findOnPath('kubectl', options.env.PATH) ?? 'kubectl'),
      },
      options,
    );
  },
};
