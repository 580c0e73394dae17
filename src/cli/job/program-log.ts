import { ProgramOutput } from '../../instance/program-output.ts';
import type { FollowLog, LogReader } from '../logs/run-log.ts';

/** Receiver of the whole log. */
type LogReceiver = Required<Pick<LogReader, 'write' | 'replaced'>>;

/**
 * Returns a follower that writes the output of the program alone. `follow` returns the follower of the whole log, which
 * passes its text on.
 */
export function programLog(
  write: (text: string) => void,
  follow: (receiver: LogReceiver) => FollowLog,
): FollowLog {
  return (name, signal) => {
    let output = new ProgramOutput();
    const pass = (text: string): void => {
      if (text !== '') write(text);
    };
    const receiver = {
      write: (text: string) => pass(output.take(text)),
      replaced() {
        output = new ProgramOutput();
      },
    };
    const log = follow(receiver)(name, signal);
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
