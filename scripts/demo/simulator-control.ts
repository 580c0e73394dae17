/** Cost of a contract by the simulator's own ledger. */
export interface LedgerContract {
  readonly id: number;
  readonly label: string | null;
  readonly start: number;
  readonly end: number | null;
  readonly dollars: number;
}

export interface Ledger {
  readonly now: number;
  readonly dollars: number;
  readonly billing: number;
  readonly contracts: readonly LedgerContract[];
}

async function call(url: string, init?: RequestInit): Promise<unknown> {
  const response = await fetch(url, init);
  if (!response.ok)
    throw new Error(`the simulator answered ${response.status} to ${url}: ${await response.text()}`);
  return response.json();
}

/** Returns the simulator's ledger: rentals and their cost, independent of the operator. */
export async function readLedger(controlUrl: string): Promise<Ledger> {
  return (await call(`${controlUrl}/ledger`)) as Ledger;
}

/** Breaks something on purpose. */
export async function injectFault(
  controlUrl: string,
  fault: Readonly<Record<string, unknown>>,
): Promise<void> {
  await call(`${controlUrl}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  });
}
