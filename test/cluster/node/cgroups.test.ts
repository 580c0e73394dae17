import { expect, test } from 'vitest';
import { cgroupMounts } from './cgroups.ts';

const VERSION_1 = `25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 25 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
34 25 0:28 / /mnt/again rw,relatime - cgroup cgroup rw,memory
`;
const VERSION_2 = `25 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
`;

test('every hierarchy of version 1 is found once, and the unified one beside them', () => {
  expect(cgroupMounts(VERSION_1)).toEqual({
    version: 1,
    folders: ['/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/unified'],
  });
});

test('a machine with version 2 alone has one', () => {
  expect(cgroupMounts(VERSION_2)).toEqual({ version: 2, folders: ['/sys/fs/cgroup'] });
});
