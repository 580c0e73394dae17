/** A line about something that takes minutes: rewritten on a terminal, repeated now and then elsewhere. */
export interface Progress {
  update(line: string): void;
  /** The last line stays. */
  end(line: string): void;
}

const REPEAT_MS = 30_000;

export function showProgress(out: NodeJS.WriteStream): Progress {
  let saidAt = Number.NEGATIVE_INFINITY;
  const say = (line: string) => out.write(`${line}\n`);
  const rewrite = (line: string) => out.write(`\r\u001b[K${line.slice(0, Math.max(20, out.columns - 1))}`);
  return {
    update(line) {
      if (out.isTTY) {
        rewrite(line);
        return;
      }
      if (performance.now() - saidAt < REPEAT_MS) return;
      saidAt = performance.now();
      say(line);
    },
    end(line) {
      if (out.isTTY) rewrite('');
      say(line);
    },
  };
}

/** `3m10s`, as Go and Kubernetes write durations. */
export function formatElapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
