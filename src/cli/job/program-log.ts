import { ProgramOutput } from '../../instance/program-output.ts';
import type { FollowLog } from '../logs/run-log.ts';

/**
 * Returns a follower that writes the output of the program alone. `follow` returns the follower of the whole log, which
 * passes its text on.
 */
export function programLog(
  write: (text: string) => void,
  follow: (pass: (text: string) => void) => FollowLog,
): FollowLog {
  return (name, signal) => {
    const output = new ProgramOutput();
    const pass = (text: string): void => {
      if (text !== '') write(text);
    };
    const log = follow((text) => pass(output.take(text)))(name, signal);
    return {
      get silentSince() {
        return log.silentSince;
      },
      async finish(limitMs) {
        const isWhole = await log.finish(limitMs);
        pass(output.end());
        return isWhole;
      },
    };
  };
}
