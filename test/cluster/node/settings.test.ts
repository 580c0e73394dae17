import { describe, expect, test } from 'vitest';
import { networkAt } from './network.ts';
import {
  cniSettings,
  containerdSettings,
  kubeletSettings,
  type NodeSettings,
  proxySettings,
} from './settings.ts';

const settings: NodeSettings = {
  folder: '/tmp/folder',
  cgroup: 'gpu-rental-node-1',
  snapshotter: 'overlayfs',
  network: networkAt(2),
  programs: {
    containerd: '/usr/bin/containerd',
    containerdMajor: 1,
    ctr: '/usr/bin/ctr',
    runc: '/usr/sbin/runc',
    ip: '/usr/sbin/ip',
    unshare: '/usr/bin/unshare',
    cniFolder: '/usr/lib/cni',
    proxyMode: 'nftables',
    searchPath: '/usr/bin',
  },
};

describe('the settings of a node', () => {
  test.for([
    [1, 'version = 2', 'sandbox_image = "localhost/pause:1"'],
    [2, 'version = 3', 'sandbox = "localhost/pause:1"'],
  ] as const)('have the form that containerd %s reads', ([containerdMajor, version, pause]) => {
    const text = containerdSettings({ ...settings, programs: { ...settings.programs, containerdMajor } });
    expect(text.split('\n')[0]).toBe(version);
    expect(text).toContain(pause);
    expect(text).toContain('restrict_oom_score_adj = true');
    expect(text).toContain('address = "/tmp/folder/containerd.sock"');
    expect(text).toContain('BinaryName = "/usr/sbin/runc"');
  });

  test('keep everything that is written in the folder of the node', () => {
    expect(containerdSettings(settings).match(/(?:root|path|conf_dir) = "[^"]*"/g)).toEqual([
      'root = "/tmp/folder/containerd"',
      'path = "/tmp/folder/opt"',
      'path = "/tmp/folder/registries"',
      'conf_dir = "/tmp/folder/cni"',
    ]);
    expect(kubeletSettings(settings)).toMatchObject({
      podLogsDir: '/tmp/folder/pod-logs',
      volumePluginDir: '/tmp/folder/volume-plugins',
      cgroupRoot: '/gpu-rental-node-1',
    });
    expect(JSON.stringify(cniSettings(settings))).toContain('"dataDir":"/tmp/folder/cni-addresses"');
  });

  test('name the addresses of the node', () => {
    expect(kubeletSettings(settings)).toMatchObject({ clusterDNS: ['10.98.0.10'] });
    expect(proxySettings(settings, '/k')).toMatchObject({ clusterCIDR: '10.98.128.0/24', mode: 'nftables' });
    expect(JSON.stringify(cniSettings(settings))).toContain('10.98.128.0/24');
  });
});
