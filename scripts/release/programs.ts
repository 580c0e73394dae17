import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { COSIGN, CRANE, goTool, HELM } from '../../test/tools/go-tool.ts';

/** Runs one program; resolves with its standard output, and rejects with what it says on standard error. */
export type Program = (args: readonly string[]) => Promise<string>;

/** The programs that publish, and that `make release-rehearsal` tries. */
export interface Programs {
  readonly crane: Program;
  readonly cosign: Program;
  readonly helm: Program;
}

const TIMEOUT_MS = 10 * 60_000;
const LAST_LINES = 6;

/** `environment` is all that the program gets. */
export function program(name: string, path: string, environment: NodeJS.ProcessEnv): Program {
  return async (args) => {
    const options = { env: environment, maxBuffer: 1 << 27, timeout: TIMEOUT_MS };
    try {
      return (await promisify(execFile)(path, [...args], options)).stdout;
    } catch (error) {
      const { stderr = '', message } = error as Error & { readonly stderr?: string };
      const said = stderr.trim().split('\n').slice(-LAST_LINES).join('\n') || message;
      throw new Error(`${name} ${args[0] ?? ''} failed: ${said}`);
    }
  };
}

/** Paths of the programs. */
export type ProgramPaths = Readonly<Record<keyof Programs, string>>;

/** Builds those that this user's cache does not have, with progress on stderr. Rejects with how to get what is missing. */
export async function findPrograms(env: NodeJS.ProcessEnv): Promise<ProgramPaths> {
  // One after the other: each build takes all cores.
  const helm = await goTool(HELM, env);
  const crane = await goTool(CRANE, env);
  return { helm, crane, cosign: await goTool(COSIGN, env) };
}

/** Returns the programs of {@link findPrograms}, which run with `env`. */
export async function openPrograms(env: NodeJS.ProcessEnv): Promise<Programs> {
  const { helm, crane, cosign } = await findPrograms(env);
  return {
    helm: program('helm', helm, env),
    crane: program('crane', crane, env),
    cosign: program('cosign', cosign, env),
  };
}
