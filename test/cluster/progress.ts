/** Progress of an operation that takes minutes. */
export interface Progress {
  update(state: string): void;
  /** Ends the display; the last line stays. */
  end(state: string): void;
}

const REPEAT_MS = 30_000;

/** Shows the title once, and below it a line that is rewritten. */
function showOnTerminal(out: NodeJS.WriteStream, title: string): Progress {
  const rewrite = (state: string) => out.write(`\r\u001b[K  ${state}`.slice(0, 4 + out.columns));
  out.write(`${title}\n`);
  return {
    update: rewrite,
    end(state) {
      rewrite(state);
      out.write('\n');
    },
  };
}

/** Shows complete lines in a log, at intervals. */
function showInLog(out: NodeJS.WriteStream, title: string): Progress {
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    update(state) {
      if (performance.now() - shownAt < REPEAT_MS) return;
      shownAt = performance.now();
      out.write(`${title} … ${state}\n`);
    },
    end(state) {
      out.write(`${title}: ${state}\n`);
    },
  };
}

export function showProgress(out: NodeJS.WriteStream, title: string): Progress {
  return out.isTTY ? showOnTerminal(out, title) : showInLog(out, title);
}

/** `3m10s`, as Go and Kubernetes write durations. */
export function formatElapsed(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
