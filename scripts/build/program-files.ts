import { PAGE_FILES } from '../../src/ui/build-page.ts';

/** The command of the package, which loads {@link PROGRAM}: small, so that it is compiled at once. */
export const COMMAND = 'gpu-rent.mjs';
/** All of the program but {@link SSH_CLIENT}, {@link MCP_SERVER} and a start as {@link RELAY}. What V8 compiles of it is kept between runs. */
export const PROGRAM = 'gpu-rent-program.mjs';
/** The relay, `gpu-rent job`, with all that it needs: it waits in many Pods, and the whole program costs 30 MiB more. */
export const RELAY = 'gpu-rent-job.mjs';
/** The SSH client of leases, which an operator loads at the first renewal: a tenth of the program that most never use. */
export const SSH_CLIENT = 'gpu-rent-ssh.mjs';
/** The Model Context Protocol, which only `gpu-rent mcp` loads. */
export const MCP_SERVER = 'gpu-rent-mcp.mjs';

/** Licences of all packages with modules in these files. */
export const NOTICES = 'gpu-rent.NOTICES.txt';
/** The same packages as JSON: for tests, it does not ship. */
export const PACKAGES = 'packages.json';

/** Files of the command line in `dist`, also for the image and the archives of a release. */
export const PROGRAM_FILES: readonly { readonly name: string; readonly mode: number }[] = [
  { name: COMMAND, mode: 0o755 },
  { name: PROGRAM, mode: 0o644 },
  { name: `${PROGRAM}.LEGAL.txt`, mode: 0o644 },
  { name: RELAY, mode: 0o644 },
  { name: `${RELAY}.LEGAL.txt`, mode: 0o644 },
  { name: SSH_CLIENT, mode: 0o644 },
  { name: MCP_SERVER, mode: 0o644 },
  { name: PAGE_FILES.script, mode: 0o644 },
  { name: PAGE_FILES.style, mode: 0o644 },
  { name: NOTICES, mode: 0o644 },
];
