import fc from 'fast-check';

/**
 * Seed of all properties, so that every test run of a commit gives the same result. `PROPERTY_SEED=7 make check`
 * draws other examples, and `make verify-all` new ones.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
