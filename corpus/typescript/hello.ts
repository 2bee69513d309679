const text: string = "hello world";
console.log(text);
