/** Preloaded into the operator of `make demo-agent`: its clock is that of the marketplace, which runs fast. */
import { systemClock } from '../../src/lib/clock.ts';
import { fastClock } from './fast-time.ts';

/** Environment variable with the fast time as JSON. */
const VARIABLE = 'DEMO_FAST_TIME';

const text = process.env[VARIABLE];
if (text === undefined) throw new Error(`${VARIABLE} is missing`);
Object.assign(systemClock, fastClock(JSON.parse(text), { ...systemClock }));
