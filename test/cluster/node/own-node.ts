import { join } from 'node:path';
import { isBuilt } from '../build-cache.ts';
import { buildOnce } from '../go-build.ts';
import { NODE_IMAGES } from '../go-modules.ts';
import { goToolchain } from '../go-toolchain.ts';
import { startedFrom } from '../own-control-plane.ts';
import type { Way } from '../way.ts';
import { nodeImages } from './images.ts';
import { keepNode } from './kept-node.ts';
import { findNodePrograms, INSTALL_COMMAND, probeNamespaces } from './programs.ts';
import { importCommand } from './servers.ts';
import { REGISTRIES } from './settings.ts';

/** A control plane and a node from Go modules, with containerd and runc of this machine, in namespaces of their own. */
export const ownNode: Way = {
  source: 'own-node',
  needs: `root on Linux, Go 1.26 or newer, and what this installs: ${INSTALL_COMMAND}`,
  async check(env) {
    if (process.platform !== 'linux') return { type: 'unusable', why: 'this is not Linux' };
    if (process.getuid?.() !== 0) return { type: 'unusable', why: 'this user is not root' };
    try {
      await findNodePrograms(env);
      await probeNamespaces(env);
    } catch (error) {
      return { type: 'unusable', why: error instanceof Error ? error.message : String(error) };
    }
    return goToolchain.check(env);
  },
  async prepare({ env, report }) {
    await buildOnce(env, report);
    await nodeImages(env, report);
  },
  isPrepared: (env) => isBuilt(env) && isBuilt(env, NODE_IMAGES),
  async start({ env, audit, report }) {
    const programs = await findNodePrograms(env);
    const folder = await buildOnce(env, report);
    const { pause, coredns } = await nodeImages(env, report);
    const path = (name: string): string => join(folder, name);
    const kept = await keepNode(
      {
        programs,
        controlPlane: {
          etcd: path('etcd'),
          kubeApiserver: path('kube-apiserver'),
          controllers: {
            path: path('kube-controller-manager'),
            args: ['--leader-elect=false', '--bind-address=127.0.0.1', '--profiling=false'],
          },
          audit,
        },
        servers: {
          kubelet: path('kubelet'),
          scheduler: path('kube-scheduler'),
          proxy: path('kube-proxy'),
        },
        archives: [pause, coredns],
      },
      report,
    );
    const { network, site } = kept;
    return startedFrom(kept, {
      source: 'own-node',
      kubectlPath: path('kubectl'),
      collectsGarbage: true,
      node: {
        hostAddress: network.hostAddress,
        importCommand: importCommand(programs.ctr, site.folder),
        registriesFolder: join(site.folder, REGISTRIES),
        sharesProcesses: true,
      },
    });
  },
};
