import { join } from 'node:path';
import type { NodeNetwork } from './network.ts';
import type { NodePrograms } from './programs.ts';

/** Inputs of the settings of a node's servers. */
export interface NodeSettings {
  /** Folder of everything that the node writes. */
  readonly folder: string;
  readonly programs: NodePrograms;
  readonly network: NodeNetwork;
  readonly cgroup: string;
  readonly snapshotter: 'overlayfs' | 'native';
}

/** Addition to a control plane that has a node. */
export interface NodePlan {
  readonly settings: Omit<NodeSettings, 'folder'>;
  readonly servers: { readonly kubelet: string; readonly scheduler: string; readonly proxy: string };
  /** Images that the node has from the start. */
  readonly archives: readonly string[];
}

/** The node has no DNS server, no registry and nothing else from outside. */
export const PAUSE_IMAGE = 'localhost/pause:1';
export const DNS_IMAGE = 'localhost/coredns:1';
/** Image that tests of the node itself run. */
export const WORKLOAD_IMAGE = 'localhost/workload:1';
export const NODE_NAME = 'node';
export const CONTAINERD_SOCKET = 'containerd.sock';
/** A folder in it per registry: containerd reads it at each pull. */
export const REGISTRIES = 'registries';

/** Returns containerd's settings as TOML. If a process may not lower its OOM score, runc must not try to. */
export function containerdSettings(settings: NodeSettings): string {
  return settings.programs.containerdMajor === 1
    ? containerdSettings1(settings)
    : containerdSettings2(settings);
}

function containerdFolders({ folder }: NodeSettings): string {
  return `root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "${join(folder, CONTAINERD_SOCKET)}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"`;
}

function containerdSettings1(settings: NodeSettings): string {
  const { folder, programs, snapshotter } = settings;
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
${containerdFolders(settings)}
[${cri}]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [${cri}.registry]
    config_path = "${join(folder, REGISTRIES)}"
  [${cri}.cni]
    bin_dir = "${programs.cniFolder}"
    conf_dir = "${folder}/cni"
  [${cri}.containerd]
    snapshotter = "${snapshotter}"
    default_runtime_name = "runc"
    [${cri}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [${cri}.containerd.runtimes.runc.options]
        BinaryName = "${programs.runc}"
        SystemdCgroup = false
`;
}

function containerdSettings2(settings: NodeSettings): string {
  const { folder, programs, snapshotter } = settings;
  const images = 'plugins."io.containerd.cri.v1.images"';
  const runtime = 'plugins."io.containerd.cri.v1.runtime"';
  return `version = 3
${containerdFolders(settings)}
[${images}]
  snapshotter = "${snapshotter}"
  [${images}.pinned_images]
    sandbox = "${PAUSE_IMAGE}"
  [${images}.registry]
    config_path = "${join(folder, REGISTRIES)}"
[${runtime}]
  restrict_oom_score_adj = true
  [${runtime}.cni]
    bin_dirs = ["${programs.cniFolder}"]
    conf_dir = "${folder}/cni"
  [${runtime}.containerd]
    default_runtime_name = "runc"
    [${runtime}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [${runtime}.containerd.runtimes.runc.options]
        BinaryName = "${programs.runc}"
        SystemdCgroup = false
`;
}

/** Returns CNI settings with one bridge for all Pods; traffic to other networks has the node's address. */
export function cniSettings({ folder, network }: NodeSettings): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: join(folder, 'cni-addresses'),
          ranges: [[{ subnet: network.pods }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  };
}

/** KubeletConfiguration. Nothing is evicted: the disk and the memory are the developer's. */
export function kubeletSettings({ folder, network, cgroup }: NodeSettings): object {
  const endpoint = `unix://${join(folder, CONTAINERD_SOCKET)}`;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    enforceNodeAllocatable: ['pods'],
    containerRuntimeEndpoint: endpoint,
    imageServiceEndpoint: endpoint,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    clusterDNS: [network.dnsAddress],
    clusterDomain: 'cluster.local',
    resolvConf: join(folder, 'resolv.conf'),
    podLogsDir: join(folder, 'pod-logs'),
    volumePluginDir: join(folder, 'volume-plugins'),
    failSwapOn: false,
    evictionHard: {
      'memory.available': '50Mi',
      'nodefs.available': '0%',
      'imagefs.available': '0%',
      'nodefs.inodesFree': '0%',
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    makeIPTablesUtilChains: false,
    nodeStatusUpdateFrequency: '5s',
    syncFrequency: '10s',
  };
}

/** KubeProxyConfiguration. The kernel's limits are the machine's, so none is set. */
export function proxySettings({ programs, network }: NodeSettings, kubeconfigPath: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: programs.proxyMode,
    clusterCIDR: network.pods,
    healthzBindAddress: '127.0.0.1:10256',
    metricsBindAddress: '127.0.0.1:10249',
    clientConnection: { kubeconfig: kubeconfigPath },
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}
