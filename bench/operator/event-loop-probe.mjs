// Preloaded into the operator's process by bench/operator.ts: writes what its event loop did to a file.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const file = process.env.EVENT_LOOP_FILE;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
setInterval(() => {
  const milliseconds = (nanoseconds) => Math.round(nanoseconds / 1e4) / 100;
  const { rss, heapUsed } = process.memoryUsage();
  const peak = process.resourceUsage().maxRSS * 1024;
  const figures = {
    p99: milliseconds(delay.percentile(99)),
    max: milliseconds(delay.max),
    rss,
    peak,
    heapUsed,
  };
  if (file) writeFileSync(file, JSON.stringify(figures));
}, 500).unref();
process.on('SIGUSR2', () => delay.reset());
