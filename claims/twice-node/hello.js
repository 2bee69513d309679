console.log('hello world');
console.log('hello world');
