// The numbers of the page: an array with its shape, and the unpacking of the text that `arrays.py` packs.

class Numbers {
  constructor(values, shape) {
    this.values = values;
    this.shape = shape;
  }

  // The number at an index along each dimension.
  at(...index) {
    let place = 0;
    this.shape.forEach((size, dimension) => { place = place * size + index[dimension]; });
    return this.values[place];
  }

  // The numbers along the last dimension at an index along each of the others.
  row(...index) {
    const size = this.shape[this.shape.length - 1];
    let place = 0;
    index.forEach((one, dimension) => { place = place * this.shape[dimension] + one; });
    return this.values.subarray(place * size, (place + 1) * size);
  }
}

// The bytes of an array, of which the first bytes of all numbers come first, then all second bytes, and so on.
function numbersOf(content, base, about) {
  const count = about.shape.reduce((product, size) => product * size, 1);
  const size = Number(about.dtype.slice(-1));
  const bytes = new Uint8Array(count * size);
  for (let byte = 0, place = base + about.start; byte < size; byte++) {
    for (let number = 0; number < count; number++) bytes[number * size + byte] = content[place++];
  }
  return new Numbers(size === 8 ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer), about.shape);
}

// Replace the descriptions of arrays, wherever they stand, by the arrays.
function withNumbers(part, content, base) {
  if (part === null || typeof part !== "object") return part;
  if (part.dtype && part.shape) return numbersOf(content, base, part);
  for (const key of Object.keys(part)) part[key] = withNumbers(part[key], content, base);
  return part;
}

async function unpacked(text) {
  const binary = atob(text);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(content.buffer).getUint32(0, true);
  const description = JSON.parse(new TextDecoder().decode(content.subarray(4, 4 + size)));
  return withNumbers(description, content, 4 + size);
}

let results; // what `contents.py` describes; set once by main.js
