import { type Page, textPage } from './http-server.ts';

/** One thing that must hold. */
export interface HealthCheck {
  readonly name: string;
  /** Undefined where it holds; else what is wrong, for a person. */
  readonly problem: () => string | undefined;
}

/**
 * 200 while every check holds, else 503. The body lists each check in the form of the API server's own
 * health pages, so that people read it at once.
 */
export function healthPage(checks: readonly HealthCheck[]): Page {
  const results = checks.map(({ name, problem }) => ({ name, problem: problem() }));
  const failed = results.some((result) => result.problem !== undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  const summary = failed ? 'check failed' : 'check passed';
  return textPage(failed ? 503 : 200, `${[...lines, summary].join('\n')}\n`);
}
