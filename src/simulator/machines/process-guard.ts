import { spawn } from 'node:child_process';

/** Ends process groups of a simulator that itself ends, even by SIGKILL, and deletes its folder. */
export interface ProcessGuard {
  /** Adds a process group. */
  add(group: number): void;
  /** Removes a process group that has ended. */
  remove(group: number): void;
  /** Ends all groups and deletes the folder; resolves when that is done. */
  close(): Promise<void>;
}

/** Reads `add N` and `remove N`. Its input ends when the simulator does, however it does. */
const GUARD = `
trap '' INT TERM HUP
groups=
while read -r verb id; do
  rest=
  for one in $groups; do [ "$one" = "$id" ] || rest="$rest $one"; done
  groups=$rest
  [ "$verb" = add ] && groups="$groups $id"
done
for one in $groups; do kill -s KILL -- "-$one"; done
for try in 1 2 3 4 5; do rm -rf "$0" && break; sleep 1; done
`;

/** Starts a guard: one shell that waits. */
export function startGuard(folder: string): ProcessGuard {
  // In another process group than this process, to which a terminal sends Ctrl-C.
  const shell = spawn('sh', ['-c', GUARD, folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.unref();
  const ended = new Promise<void>((resolve) => {
    shell.once('exit', () => resolve());
    shell.once('error', () => resolve());
  });
  shell.stdin.on('error', () => undefined);
  return {
    add(group) {
      shell.stdin.write(`add ${group}\n`);
    },
    remove(group) {
      shell.stdin.write(`remove ${group}\n`);
    },
    close() {
      shell.ref();
      shell.stdin.end();
      return ended;
    },
  };
}
