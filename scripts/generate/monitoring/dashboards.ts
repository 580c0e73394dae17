import { type Dashboard, fleet, health } from './dashboard-panels.ts';
import { gateway } from './gateway-dashboard.ts';

/** All that the chart brings. */
export const dashboards: readonly Dashboard[] = [fleet, health, gateway];
