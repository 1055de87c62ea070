// A plain fast Fourier transform, for comparing recordings. Lab only.

/** Transforms in place; the length must be a power of two. `isInverse` leaves out the division by the length. */
export function fourierTransform(real: Float64Array, imaginary: Float64Array, { isInverse = false } = {}): void {
  new Fourier(real.length).transform(real, imaginary, { isInverse });
}

/** The tables of one length, for repeated transforms. */
export class Fourier {
  /** A power of two. */
  readonly length: number;
  readonly #cosines: Float64Array;
  readonly #sines: Float64Array;
  readonly #reversed: Uint32Array;

  constructor(length: number) {
    this.length = length;
    const angle = (2 * Math.PI) / length;
    this.#cosines = Float64Array.from({ length: length / 2 }, (_, offset) => Math.cos(angle * offset));
    this.#sines = Float64Array.from({ length: length / 2 }, (_, offset) => Math.sin(angle * offset));
    this.#reversed = new Uint32Array(length);
    for (let index = 1; index < length; index++) {
      this.#reversed[index] = (this.#reversed[index >> 1]! >> 1) | ((index & 1) * (length >> 1));
    }
  }

  /** As `fourierTransform`, of two arrays of this length. */
  transform(real: Float64Array, imaginary: Float64Array, { isInverse = false } = {}): void {
    this.#reverse(real, imaginary);
    const [cosines, sines, length] = [this.#cosines, this.#sines, this.length];
    const sign = isInverse ? 1 : -1;
    for (let half = 1; half < length; half *= 2) {
      const step = length / (2 * half);
      for (let start = 0; start < length; start += 2 * half) {
        for (let low = start, at = 0; low < start + half; low++, at += step) {
          const high = low + half;
          const cosine = cosines[at]!;
          const sine = sign * sines[at]!;
          const partReal = real[high]! * cosine - imaginary[high]! * sine;
          const partImaginary = real[high]! * sine + imaginary[high]! * cosine;
          real[high] = real[low]! - partReal;
          imaginary[high] = imaginary[low]! - partImaginary;
          real[low]! += partReal;
          imaginary[low]! += partImaginary;
        }
      }
    }
  }

  #reverse(real: Float64Array, imaginary: Float64Array): void {
    for (let index = 1; index < this.length; index++) {
      const other = this.#reversed[index]!;
      if (index >= other) continue;
      const [partReal, partImaginary] = [real[index]!, imaginary[index]!];
      real[index] = real[other]!;
      imaginary[index] = imaginary[other]!;
      real[other] = partReal;
      imaginary[other] = partImaginary;
    }
  }
}
