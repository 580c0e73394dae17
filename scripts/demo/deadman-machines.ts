import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { FUSE_TICK_SECONDS } from '../../src/instance/self-end.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { prepareServer, SSHD, SSHD_PORT } from './ssh-server.ts';
import { DEMO_NAMESPACE, type Stage } from './stage.ts';

/** True if machines can run an SSH server of their own: as root of Linux, in namespaces. */
export const HAS_SSH = SSHD !== undefined && process.platform === 'linux' && userInfo().uid === 0;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A folder of programs that machines find before those of this computer. */
export interface MachinePrograms {
  readonly path: string;
  remove(): void;
}

/** Creates a `sleep` by which fuses count that many seconds in one. */
export function fastPrograms(repository: string, speed: number): MachinePrograms {
  // Machines have a /tmp of their own.
  const cache = join(repository, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'demo-deadman-'));
  const sleep = `#!/bin/sh\n[ "$1" = ${FUSE_TICK_SECONDS} ]&&exec /bin/sleep ${FUSE_TICK_SECONDS / speed}\nexec /bin/sleep "$@"\n`;
  writeFileSync(join(folder, 'sleep'), sleep, { mode: 0o755 });
  return { path: `${folder}:${PATH}`, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A machine of the demo: the limits that end it. */
export interface Limits {
  readonly maxLifetime?: string;
  readonly lease?: string;
}

/** Start script of an image with an SSH server, which accepts the keys that the marketplace put there. */
const SERVER = `#!/bin/sh
ssh-keygen -q -t ed25519 -N '' -f "$HOME/host"
cat >"$HOME/sshd_config" <<X
ListenAddress 127.0.0.1:$${SSHD_PORT}
HostKey $HOME/host
AuthorizedKeysFile $HOME/.ssh/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
X
exec ${SSHD} -D -e -f "$HOME/sshd_config"
`;

/** Creates a GpuInstance whose machine is a process of this computer. */
export async function createMachine(
  { cluster }: Stage,
  name: string,
  {
    limits: { maxLifetime, lease },
    programs,
  }: { readonly limits: Limits; readonly programs: MachinePrograms },
): Promise<void> {
  if (HAS_SSH) prepareServer();
  const port = String(await findFreePort());
  const manifest = {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    metadata: { name, namespace: DEMO_NAMESPACE },
    spec: {
      ...{ image: 'ubuntu:24.04', ssh: true, deletionPolicy: 'Destroy' },
      offers: [{ maxPricePerHour: '2', minDirectPorts: 1 }],
      env: [
        { name: 'PATH', value: programs.path },
        { name: SSHD_PORT, value: port },
      ],
      ...(HAS_SSH && { onStart: SERVER }),
      ...(maxLifetime !== undefined && { maxLifetime }),
      ...(lease !== undefined && { lease: { duration: lease, by: 'SSH' } }),
    },
  };
  await cluster.kubectl(['apply', '--server-side', '--filename', '-'], { stdin: JSON.stringify(manifest) });
}
