// What the host writes down of a product. It finds the fields of `Product` by their names and order in this file: each is
// four bytes wide. Addresses are of the memory that the module is given, steps are in bytes.

/** `to` = `left` `right` + `bias`: [rows, columns], the sum of `terms` products each. */
@unmanaged
export class Product {
  rows: i32;
  terms: i32;
  columns: i32;
  left: usize; // [rows, terms]
  leftRow: usize; // from one row to the next; 4: they lie as columns
  leftTerm: usize;
  right: usize; // [terms, columns]
  rightTerm: usize; // 4: columns lie as rows
  rightColumn: usize;
  bias: usize; // [columns]; 0: none
  to: usize; // [rows, columns]
  format: i32; // of the right factor: 0 floats, else rows of blocks, one for each column, `rightColumn` bytes apart
  scales: usize; // of `int8`: [columns, groups]
  scaleStep: usize; // of `int8`: bytes from one row of scales to the next
  blocksPerScale: i32; // of `int8`
  unitRows: i32; // of a part that a thread computes: all rows where there are few
  unitColumns: i32; // a multiple of 8, or all
}
