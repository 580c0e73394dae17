import type { MicroDollars } from '../../lib/money.ts';

/** What this controller reports beside controller-runtime's figures. Names and labels are the server's business. */
export interface GpuInstanceMetrics {
  rented(account: string): void;
  /** `kind` is that of a MarketplaceError. */
  rentalFailed(account: string, kind: string): void;
  /** A destroy was answered with success. */
  destroyed(account: string, reason: string): void;
  /** Dollars per hour of machines whose destroy keeps failing, by object; 0 once it worked. */
  destroyFailing(key: string, pricePerHour: MicroDollars): void;
  /** What one machine cost from begin to end. */
  ended(account: string, reason: string, cost: MicroDollars): void;
}

/** Reports nothing. */
export const silentInstanceMetrics: GpuInstanceMetrics = {
  rented() {},
  rentalFailed() {},
  destroyed() {},
  destroyFailing() {},
  ended() {},
};
